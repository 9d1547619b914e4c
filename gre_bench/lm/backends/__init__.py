"""Evaluation LMs that run a neural model on this machine or on a server."""
