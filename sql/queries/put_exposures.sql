-- sets what candidates, evaluation LMs and writers may have learnt from
insert or replace into exposures (role, name, status, family, cutoff, released)
select unnest($role::varchar[]), unnest($name::varchar[]), unnest($status::varchar[]), unnest($family::varchar[]),
       unnest($cutoff::date[]), unnest($released::date[]);
