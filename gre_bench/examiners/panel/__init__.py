"""Panels of several examiners, after PRE (Chu et al. 2024).

Each examiner takes a qualification exam. A chair combines the grades or pairwise preferences of the examiners that
pass. Elo and Bradley-Terry turn preferences into a ranking.
"""
