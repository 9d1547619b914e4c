"""Texts written by rule: judgments, synopses, summaries, controls."""
