"""The pages of a release: their contents, their arrangement, and how they are rendered."""
