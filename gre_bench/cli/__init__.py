"""The command ``gre-bench``."""
