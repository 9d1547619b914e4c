-- adds or replaces the agreement of metrics with grades
insert or replace into agreements (
    signature_id, kind, value, low, high, p, flat_p, within, within_low, within_high, at_length, at_length_low,
    at_length_high, over_length, over_length_low, over_length_high, over_length_p, reviews, items, graded, problem,
    run_id
)
select unnest($signature_id::varchar[]), unnest($kind::varchar[]), unnest($value::double[]), unnest($low::double[]),
       unnest($high::double[]), unnest($p::double[]), unnest($flat_p::double[]), unnest($within::double[]),
       unnest($within_low::double[]), unnest($within_high::double[]), unnest($at_length::double[]),
       unnest($at_length_low::double[]), unnest($at_length_high::double[]), unnest($over_length::double[]),
       unnest($over_length_low::double[]), unnest($over_length_high::double[]), unnest($over_length_p::double[]),
       unnest($reviews::integer[]), unnest($items::integer[]), unnest($graded::integer[]), unnest($problem::varchar[]),
       unnest($run_id::varchar[]);
