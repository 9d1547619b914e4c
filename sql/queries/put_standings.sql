-- adds how sure each rank of one signature is
insert or replace into standings (
    board, signature_id, candidate_id, rank, rank_low, rank_high, likely_low, likely_high, next_candidate,
    next_difference, next_low, next_high, next_p, tied, more_papers, difference_p_holm, above_p_holm, tests, problem,
    run_id
)
select unnest($board::varchar[]), unnest($signature_id::varchar[]), unnest($candidate_id::varchar[]),
       unnest($rank::integer[]), unnest($rank_low::integer[]), unnest($rank_high::integer[]),
       unnest($likely_low::integer[]), unnest($likely_high::integer[]), unnest($next_candidate::varchar[]),
       unnest($next_difference::double[]), unnest($next_low::double[]), unnest($next_high::double[]),
       unnest($next_p::double[]), unnest($tied::boolean[]), unnest($more_papers::integer[]),
       unnest($difference_p_holm::double[]), unnest($above_p_holm::double[]), unnest($tests::integer[]), unnest($problem::varchar[]),
       unnest($run_id::varchar[]);
