"""Examiners: LMs that grade a text, after Kim et al. 2023, Kotonya et al. 2023 and PRE (Chu et al. 2024).

Module `examiner` holds the settings that say how a text is graded. Module `grading` asks the LM and returns grades.
Module `metric` turns any examiner into a metric of reviews.
"""
