"""Prompts, each in a .toml file that states its source. `library` loads them and fills their fields."""
