-- one row per planned pair of one signature and candidate: its score, of what and in which run, or why it has none
select p.paper_id, p.reference_id, p.state, p.value, p.reason, p.message, s.predictions, s.run_id
from pairs p
left join scores s using (signature_id, paper_id, candidate_id, reference_id)
where p.signature_id = $signature_id and p.candidate_id = $candidate_id
order by p.paper_id, p.reference_id;
