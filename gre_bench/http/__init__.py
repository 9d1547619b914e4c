"""What all HTTP clients share: retries, rate limits, size limits, masking of secrets, one-time codes."""
