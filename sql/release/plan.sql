-- one row per planned pair; details stay behind
select * replace (null::varchar as detail)
from edition.plan
order by signature_id, paper_id, candidate_id, reference_id;
