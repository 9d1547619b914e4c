"""What one TOML entry of ``data/`` adds: language models that write, and domains."""
