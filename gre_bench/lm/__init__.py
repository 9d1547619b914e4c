"""Evaluation LMs: `protocol` says what one is, `catalog` opens one by name."""
