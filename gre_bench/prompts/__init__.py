"""Prompts: one .toml a prompt, with its source; `library` is the only place that renders them."""
