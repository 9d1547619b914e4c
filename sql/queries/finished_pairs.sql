-- one row per pair of one signature that has a score or a final problem
select paper_id, candidate_id, reference_id, value, reason
from pairs
where signature_id = $signature_id and state in ('scored', 'failed')
order by paper_id, candidate_id, reference_id;
