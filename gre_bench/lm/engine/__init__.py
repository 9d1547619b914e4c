"""Engines take conversations and return the log-probabilities of their spans."""
