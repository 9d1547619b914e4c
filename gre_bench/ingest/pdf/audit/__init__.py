"""What a PDF's page carries that no human reader sees."""
