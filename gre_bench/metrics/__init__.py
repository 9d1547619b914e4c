"""The metrics that score cases. `cases` plans the cases of an edition; `scoring` scores them."""
