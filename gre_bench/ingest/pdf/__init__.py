"""Reads PDFs as text, in child processes with limits on time and memory."""
