"""PDFs as text, read in child processes with limits."""
