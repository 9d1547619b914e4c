"""Draws pictures as SVG; every package may import this one."""
