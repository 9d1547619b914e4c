-- one row per metric and change of the signatures asked for (all, if null)
select s.metric, e.*
from effects e
join signatures s using (signature_id)
where $signature_ids is null or e.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, e.family, e.change;
