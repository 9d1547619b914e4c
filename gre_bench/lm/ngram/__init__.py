"""The embedded n-gram evaluation LM: counts and a copying cache."""
