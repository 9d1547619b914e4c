-- one row per candidate of the boards: humans, models and controls
select candidate_id, kind, model, prompt, guideline
from candidates
where kind in ('human', 'model', 'control')
order by candidate_id;
