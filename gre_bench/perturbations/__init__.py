"""Perturbations that make a review less informative (degradations), or only make it look better (manipulations)."""
