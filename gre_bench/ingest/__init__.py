"""The outside world as records: files of papers and reviews, and the sample drawn from them."""
