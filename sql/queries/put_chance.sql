-- sets how far the candidates of one signature score above chance
insert or replace into chance (
    signature_id, candidate_id, chance, above, above_low, above_high, above_p, papers, swaps, run_id
)
select unnest($signature_id::varchar[]), unnest($candidate_id::varchar[]), unnest($chance::double[]),
       unnest($above::double[]), unnest($above_low::double[]), unnest($above_high::double[]),
       unnest($above_p::double[]), unnest($papers::integer[]), unnest($swaps::integer[]), unnest($run_id::varchar[]);
