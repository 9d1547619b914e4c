"""Finds content of a PDF's pages that no human reader sees."""
