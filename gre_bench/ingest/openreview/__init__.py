"""Fetching from OpenReview: client, request budget, journal, sealing."""
