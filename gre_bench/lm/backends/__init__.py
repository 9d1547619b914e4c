"""Evaluation LMs that run or reach a neural model, and the mixture over any of them."""
