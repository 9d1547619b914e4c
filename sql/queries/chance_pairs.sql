-- one row per pair that is scored under a metric and under its specific form: both scores, and the unit it belongs to
select
    p.candidate_id,
    p.paper_id,
    coalesce(m.swap, p.paper_id) as unit,
    p.value,
    s.value as above
from pairs p
join pairs s using (paper_id, candidate_id, reference_id)
join candidates c using (candidate_id)
join signatures g on g.signature_id = p.signature_id
left join moved m on m.writer = g.writer and m.candidate_id = p.candidate_id and m.paper_id = p.paper_id
where p.signature_id = $signature_id and s.signature_id = $specific_id and p.state = 'scored' and s.state = 'scored'
  and c.kind in ('human', 'model', 'control')
order by p.candidate_id, p.paper_id, p.reference_id;
