"""Guidelines for LMs that review: ratings under a guideline, the quality of reviews, guidelines made from reviews."""
