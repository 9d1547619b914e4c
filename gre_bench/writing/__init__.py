"""Writes new texts from given ones, by rule or with an LM: judgments, synopses, candidates' reviews."""
