-- one row per scored pair of the boards shown
select w.place, p.signature_id, p.candidate_id as candidate, p.paper_id, p.reference_id, p.value
from pairs p
join signatures_shown w using (signature_id)
join candidates c using (candidate_id)
where c.kind not in ('change', 'graded') and p.state = 'scored'
order by w.place, p.candidate_id, p.paper_id, p.reference_id;
