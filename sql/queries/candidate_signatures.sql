-- one row per signature that a candidate has planned pairs under
select *
from signatures
where signature_id in (select signature_id from plan where candidate_id = $candidate_id)
order by metric, signature_id;
