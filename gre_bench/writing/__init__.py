"""New texts from old, by rule or by an LM: judgments, synopses, candidates' reviews."""
