-- one row per signature: the planned pairs of the candidates asked for, by state
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
where p.signature_id in (select unnest($signature_ids::varchar[])) and p.candidate_id in (select unnest($candidates::varchar[]))
group by p.signature_id, s.metric
order by s.metric;
