-- adds finished pairs
insert into scores (
    signature_id, paper_id, candidate_id, reference_id, value, problem, problem_message, broken, predictions, run_id
)
select unnest($signature_id::varchar[]), unnest($paper_id::varchar[]), unnest($candidate_id::varchar[]),
       unnest($reference_id::varchar[]), unnest($value::double[]), unnest($problem::varchar[]),
       unnest($problem_message::varchar[]), unnest($broken::boolean[]), unnest($predictions::varchar[][]),
       unnest($run_id::varchar[]);
