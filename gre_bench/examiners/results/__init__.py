"""The results of a study of examiners: outcomes, differences, tables, error sheets."""
