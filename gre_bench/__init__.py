"""GRE-bench: the yearly benchmark of how well language models review research papers."""
