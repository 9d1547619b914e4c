"""Prompts: one .toml file for each, with its source; `library` is the only module that renders them."""
