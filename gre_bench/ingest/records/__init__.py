"""Converts users' files and OpenReview notes into records, and samples the papers of an edition."""
