-- adds planned pairs, or plans them anew
insert or replace into plan (signature_id, paper_id, candidate_id, reference_id, state, reason, detail, run_id)
select unnest($signature_id::varchar[]), unnest($paper_id::varchar[]), unnest($candidate_id::varchar[]),
       unnest($reference_id::varchar[]), unnest($state::varchar[]), unnest($reason::varchar[]),
       unnest($detail::varchar[]),
       unnest($run_id::varchar[]);
