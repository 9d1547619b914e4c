-- one row per imported file and import
select * replace (parse_filename(file) as file) from edition.imports order by all;
