-- one row per imported file: its name and what it held
select distinct parse_filename(file) as file, sha256, kind from imports order by all;
