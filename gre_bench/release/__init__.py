"""Releases of an edition: what is published, numbered, immutable, and readable without this program."""
