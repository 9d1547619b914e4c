-- adds planned pairs, or plans them anew
insert or replace into plan (signature_id, paper_id, candidate_id, reference_id, state, reason, detail, run_id)
select signature_id, paper_id, candidate_id, reference_id, state, reason, detail, run_id
from incoming;
