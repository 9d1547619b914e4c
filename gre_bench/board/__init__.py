"""The words of a board, the same on screens, pages and in files: the answer, the columns, notes and ties."""
