"""Metrics: each scores cases; `catalog` lists them, `cases` makes the cases of an edition."""
