"""The board in words, once for screen, page and files: the answer, the columns, notes and ties."""
