-- one row per candidate that a change makes: what made it when it was first planned
select candidate_id, prompt
from candidates
where kind = 'change';
