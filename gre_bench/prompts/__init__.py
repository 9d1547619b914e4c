"""Prompts: one .toml file for each, which states its source; `library` is the only module that renders them."""
