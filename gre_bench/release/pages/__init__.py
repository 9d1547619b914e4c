"""The HTML pages of a release: their data, layout and rendering."""
