"""Frozen snapshots of a venue-year: the manifest, how one is made, differences, and the publishable part."""
