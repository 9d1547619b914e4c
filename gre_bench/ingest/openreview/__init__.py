"""Fetches reviews and papers from OpenReview: a client, its request limits, and a log of all answers (journal)."""
