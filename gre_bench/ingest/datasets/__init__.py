"""Data sets of other studies: graded reviews, rated reviews, summaries, Yelp."""
