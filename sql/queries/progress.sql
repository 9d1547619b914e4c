-- one row per signature: the planned pairs of a board by state, without those of validations and graded reviews
select
    p.signature_id,
    s.metric,
    count(*) as planned,
    count(*) filter (p.state = 'scored') as scored,
    count(*) filter (p.state = 'failed') as failed,
    count(*) filter (p.state = 'excluded') as excluded,
    count(*) filter (p.state = 'missing') as missing
from pairs p
join signatures s using (signature_id)
join candidates c using (candidate_id)
where p.signature_id in (select unnest($signature_ids::varchar[])) and c.kind not in ('change', 'graded')
group by p.signature_id, s.metric
order by s.metric;
