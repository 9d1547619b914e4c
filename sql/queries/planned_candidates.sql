-- one row per candidate that has planned pairs under the signatures asked for
select distinct candidate_id
from plan
where signature_id in (select unnest($signature_ids::varchar[]));
