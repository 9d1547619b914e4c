"""Draws pictures as SVG. Every package may import this one."""
