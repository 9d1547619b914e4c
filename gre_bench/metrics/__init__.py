"""Metrics, each of which scores cases. `cases` plans the cases of an edition, and `scoring` scores the cases."""
