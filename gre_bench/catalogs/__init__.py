"""Catalogues that are read from TOML files: models and domains."""
