-- one row per signature: its planned pairs by state
select signature_id, metric, planned, scored, failed, excluded, missing
from progress
where signature_id in (select unnest($signature_ids::varchar[]))
order by metric;
