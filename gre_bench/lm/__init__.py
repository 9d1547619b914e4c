"""Evaluation LMs: `protocol` defines their interface, and `opening` opens them by name."""
