-- at most one row: a candidate
select candidate_id, kind, model, prompt, guideline, change
from candidates
where candidate_id = $candidate_id;
