"""Evaluation LMs that run a neural model here or on a server, and the mixture over any of them."""
