"""Catalogues in TOML: LMs that write, domains, claims of the papers (``data/``), experiments (``deployments/``)."""
