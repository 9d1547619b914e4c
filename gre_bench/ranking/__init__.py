"""What a board says beside its means: ranks, contamination, sensitivity, published numbers."""
