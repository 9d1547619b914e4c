"""Examiners: LMs that grade a text, as in Kim et al. 2023, Kotonya et al. 2023 and PRE (Chu et al. 2024)."""
