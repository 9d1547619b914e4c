"""A loopback OpenReview: the service's API on this machine, with faults on demand."""
