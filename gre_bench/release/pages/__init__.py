"""The pages of a release: contents, arrangement, rendering."""
