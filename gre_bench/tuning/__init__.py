"""Trains evaluation LMs on judgments."""
