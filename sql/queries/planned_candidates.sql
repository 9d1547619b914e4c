-- one row per candidate that has planned pairs under every one of the signatures asked for
select candidate_id
from plan
where signature_id in (select unnest($signature_ids::varchar[]))
group by candidate_id
having count(distinct signature_id) = len($signature_ids::varchar[]);
