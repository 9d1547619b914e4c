-- from schema version 7: p-values are computed with SciPy and stored, no longer by a series in SQL; the next refresh
-- stores those of the differences to the human baseline, and the next import of notes the strata of papers
drop macro if exists student_p;
drop macro if exists student_series;
drop macro if exists student_density;
alter table if exists standings rename to rank_statistics;
