"""The wording of a board: its answer, columns, notes and ties. Screens, pages and files use the same words."""
