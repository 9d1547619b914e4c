"""Evaluation LMs that run or reach a neural model."""
