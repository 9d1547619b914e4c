"""Evaluation LMs: `protocol` defines their interface, and `catalog` opens them by name."""
