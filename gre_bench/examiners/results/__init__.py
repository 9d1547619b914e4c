"""The results of a study of examiners: agreement with human scores, tests of differences, tables and error sheets."""
