"""What a board reports besides mean scores: ranks, contamination, dependence on the references, published numbers."""
