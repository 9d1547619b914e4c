-- one row per snapshot of notes and PDFs that was imported
select * replace (parse_filename(path) as path) from edition.snapshots order by all;
