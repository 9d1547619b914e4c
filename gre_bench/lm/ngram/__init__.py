"""The embedded n-gram evaluation LM, made of counts and a copying cache."""
