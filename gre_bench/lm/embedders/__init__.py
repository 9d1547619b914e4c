"""Sentence embedders for BERTScore."""
