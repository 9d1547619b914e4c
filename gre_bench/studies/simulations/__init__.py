"""Worlds with known answers: finite joint distributions of reviews in which the mutual information is exact."""
