-- one row per scored pair of one signature whose candidate stands on the boards: humans and models
select p.candidate_id, p.paper_id, p.reference_id, p.value
from pairs p
join candidates c using (candidate_id)
where p.signature_id = $signature_id and p.state = 'scored' and c.kind in ('human', 'model')
order by p.candidate_id, p.paper_id, p.reference_id;
