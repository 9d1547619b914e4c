"""Writes new texts from given texts, by rule or with an LM: judgments, synopses, candidates' reviews."""
