"""The base of all other packages: records, errors, settings, review texts, and helpers for files and names."""
