"""Catalogues that are read from TOML files.

models       LMs that can write reviews, judgments and synopses (``data/models.toml``)
domains      kinds of reviewed items (``data/domains.toml``)
claims       claims of the papers, and how each is tested (``data/claims.toml``)
experiments  published experiments that can be run (``deployments/papers``)
"""
