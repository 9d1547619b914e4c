-- one row per pair that is due and neither scored nor finally failed
select signature_id, paper_id, candidate_id, reference_id
from pairs
where state = 'missing' and signature_id in (select unnest($signature_ids::varchar[]));
