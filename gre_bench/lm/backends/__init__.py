"""Evaluation LMs that run a neural model here or on a server."""
