"""Converts external sources into records: OpenReview notes, PDFs, users' files and data sets of other studies."""
