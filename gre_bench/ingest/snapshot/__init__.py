"""Frozen snapshots of a venue-year: manifest, making, difference, what may be published."""
