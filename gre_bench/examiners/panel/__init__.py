"""Panels of several examiners: qualification exam, chair, pairwise preferences, Elo, Bradley-Terry."""
