"""The n-gram evaluation LM that comes with the program: n-gram counts and a copying cache."""
