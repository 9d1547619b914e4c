"""Frozen snapshots of a venue-year: their manifest, making, comparison and publishable part."""
