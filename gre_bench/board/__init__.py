"""The words of a board: the answer, the columns, notes and ties. Screens, pages and files use the same words."""
