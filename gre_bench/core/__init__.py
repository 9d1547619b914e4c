"""The base of every other package: records, errors, settings, and texts split into parts."""
