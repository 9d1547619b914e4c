-- adds planned pairs, or plans them anew; those of a refresh stay those of the refresh, which a leaderboard asks for
insert into plan (signature_id, paper_id, candidate_id, reference_id, state, reason, detail, run_id)
select signature_id, paper_id, candidate_id, reference_id, state, reason, detail, run_id
from incoming
on conflict do update set state = excluded.state, reason = excluded.reason, detail = excluded.detail;
