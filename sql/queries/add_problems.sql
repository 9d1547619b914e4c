-- adds transient problems
insert into problems (run_id, signature_id, paper_id, candidate_id, reference_id, problem, message, happened_at)
select unnest($run_id::varchar[]), unnest($signature_id::varchar[]), unnest($paper_id::varchar[]),
       unnest($candidate_id::varchar[]), unnest($reference_id::varchar[]), unnest($problem::varchar[]),
       unnest($message::varchar[]), unnest($happened_at::timestamptz[]);
