"""Changes: what makes a review less informative (degradations), or only look better (manipulations)."""
