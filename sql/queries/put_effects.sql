-- adds the effects of one validation, in the place of what an earlier one found of the same signature and change
insert or replace into effects (
    signature_id, change, candidate_id, family, made_by, d, low, high, p, p_holm, flat_low, flat_high, flat_p, length_d,
    length_low, length_high, mean_before, mean_after, pairs, planned, papers, method, verdict, paper_verdict, problem,
    run_id
)
select unnest($signature_id::varchar[]), unnest($change::varchar[]), unnest($candidate_id::varchar[]),
       unnest($family::varchar[]), unnest($made_by::varchar[]), unnest($d::double[]), unnest($low::double[]),
       unnest($high::double[]), unnest($p::double[]), unnest($p_holm::double[]), unnest($flat_low::double[]),
       unnest($flat_high::double[]), unnest($flat_p::double[]), unnest($length_d::double[]),
       unnest($length_low::double[]), unnest($length_high::double[]), unnest($mean_before::double[]),
       unnest($mean_after::double[]), unnest($pairs::integer[]), unnest($planned::integer[]),
       unnest($papers::integer[]), unnest($method::varchar[]), unnest($verdict::varchar[]),
       unnest($paper_verdict::varchar[]), unnest($problem::varchar[]), unnest($run_id::varchar[]);
