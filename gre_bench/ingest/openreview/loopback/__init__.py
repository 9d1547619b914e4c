"""A loopback OpenReview: a server on this machine that imitates the service's API and can inject faults."""
