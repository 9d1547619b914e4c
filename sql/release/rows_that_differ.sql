-- one row, if the temporary views mine and theirs differ by more than who stored their rows and when
with here as (select columns(lambda name: name not in ('run_id', 'imported_at')) from mine),
there as (select columns(lambda name: name not in ('run_id', 'imported_at')) from theirs)
(from here except all from there)
union all
(from there except all from here)
limit 1;
