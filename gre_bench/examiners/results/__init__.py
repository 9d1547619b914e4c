"""What a study of examiners reports: outcomes, differences, tables, error sheets."""
