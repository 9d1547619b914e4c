"""Frozen snapshots of a venue-year: the manifest, making one, differences, and what may be published."""
