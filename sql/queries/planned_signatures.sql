-- one row per signature that has planned pairs, the one planned last first
with planned as (
    select p.signature_id, max(r.started_at) as planned_at
    from plan p
    join runs r using (run_id)
    group by all
)
select s.*
from signatures s
join planned using (signature_id)
order by planned_at desc, s.metric;
