"""Frozen snapshots of a venue-year: their making, comparison and publishable part."""
