"""Examiners: LMs asked to grade a text, after Kim et al. 2023, Kotonya et al. 2023 and PRE.

`examiner` is the value that says how; `grading` asks and gives grades; `metric` makes a metric of any examiner.
"""
