-- one row per signature asked for that has a separation
select s.metric, p.*
from separation p
join signatures s using (signature_id)
where p.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;
