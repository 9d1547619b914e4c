-- one row per paper whose texts may be passed on
select p.paper_id
from edition.papers p
left join edition.paper_sources s using (paper_id)
where exists (select 1 from free_licences f where f.licence is not distinct from s.licence);
