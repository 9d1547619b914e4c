"""Simulations with known answers: finite joint distributions of reviews, whose mutual information is known exactly."""
