"""Catalogues that are read from TOML files: models, domains, claims."""
