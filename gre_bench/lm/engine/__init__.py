"""Engines: conversations in, the log-probabilities of their spans out."""
