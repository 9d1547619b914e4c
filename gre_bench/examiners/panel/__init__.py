"""Several examiners together: exam, chair, pairwise preferences, Elo, Bradley-Terry."""
