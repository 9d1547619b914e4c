-- one row per metric, state and reason among a board's pairs without a score, with the message of one of them
select
    s.metric,
    p.state,
    coalesce(p.reason, 'not tried yet') as reason,
    p.broken,
    count(*) as pairs,
    coalesce(min(p.message), '') as example
from pairs p
join signatures s using (signature_id)
join candidates c using (candidate_id)
where p.state <> 'scored' and p.signature_id in (select unnest($signature_ids::varchar[]))
  and c.kind not in ('change', 'graded')
group by s.metric, p.state, p.reason, p.broken
order by s.metric, p.state, pairs desc;
