"""What a board says in words, such as who leads and who ties. Screens, pages and files use the same words."""
