"""Helpers of all HTTP clients: retries, rate limits, size limits, masking of secrets, one-time codes."""
