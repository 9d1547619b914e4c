"""Rules that write texts without an LM: judgments, synopses, summaries, reviews of controls."""
