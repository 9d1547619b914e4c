-- one row per planned pair of one signature and the candidates asked for, with its state, score or reason
select candidate_id, paper_id, reference_id, state, value, reason
from pairs
where signature_id = $signature_id and candidate_id in (select unnest($candidates::varchar[]))
order by candidate_id, paper_id, reference_id;
