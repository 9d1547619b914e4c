"""Fetches reviews and papers from OpenReview: client, request budget, journal, and snapshots."""
