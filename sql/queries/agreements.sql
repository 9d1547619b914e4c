-- one row per metric and coefficient of the signatures asked for (all, if null)
select s.metric, a.*
from agreements a
join signatures s using (signature_id)
where $signature_ids is null or a.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, a.kind;
