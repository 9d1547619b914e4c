-- one row per scored pair of one candidate
select paper_id, value
from pairs
where signature_id = $signature_id and candidate_id = $candidate_id and state = 'scored'
order by paper_id, reference_id;
