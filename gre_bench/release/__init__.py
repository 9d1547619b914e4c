"""Releases of an edition: numbered, immutable, and readable without this program."""
