"""What a board reports besides means: ranks, contamination, sensitivity, published numbers."""
