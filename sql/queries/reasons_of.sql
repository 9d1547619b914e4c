-- one row per metric, state and reason among the pairs without a score of the candidates asked for, with one message
select
    s.metric,
    p.state,
    coalesce(p.reason, 'not tried yet') as reason,
    p.broken,
    count(*) as pairs,
    coalesce(min(p.message), '') as example
from pairs p
join signatures s using (signature_id)
where p.state <> 'scored' and p.signature_id in (select unnest($signature_ids::varchar[]))
  and p.candidate_id in (select unnest($candidates::varchar[]))
group by s.metric, p.state, p.reason, p.broken
order by s.metric, p.state, pairs desc;
