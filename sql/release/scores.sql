-- one row per finished pair; messages stay behind
select * replace (null::varchar as problem_message)
from edition.scores
order by signature_id, paper_id, candidate_id, reference_id;
