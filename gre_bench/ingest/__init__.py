"""Turns outside sources into records: files of papers and reviews, and the sample drawn from them."""
