-- name: separation
-- one row per requested signature that has a separation
select s.metric, p.*
from separation p
join signatures s using (signature_id)
where p.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;

-- name: clear_separation
-- deletes the separation of one signature
delete from separation where signature_id = $signature_id;

-- name: put_separation
-- sets the separation of one signature
insert or replace into separation (signature_id, same, other, same_pairs, other_pairs, auc, low, high, left_out)
values ($signature_id, $same, $other, $same_pairs, $other_pairs, $auc, $low, $high, $left_out);

-- name: effects
-- one row per metric and change of the requested signatures (all, if null)
select s.metric, e.*
from effects e
join signatures s using (signature_id)
where $signature_ids is null or e.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, e.family, e.change;

-- name: clear_effects
-- deletes the effects of one signature
delete from effects
where signature_id = $signature_id;

-- name: put_effects
-- adds the effects of one validation, or replaces those of an earlier one for the same signature and change
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

-- name: validations
-- one row per requested signature (all, if null): the result of its validation
select s.metric, v.signature_id, v.verdict, v.edition, v.detail, v.validated_at
from validations v
join signatures s using (signature_id)
where $signature_ids is null or v.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;

-- name: clear_validations
-- deletes the validation results of signatures
delete from validations
where signature_id in (select unnest($signature_ids::varchar[]));

-- name: put_validations
-- adds or replaces the validation results of signatures
insert or replace into validations (signature_id, verdict, edition, detail, validated_at)
select unnest($signature_id::varchar[]), unnest($verdict::varchar[]), unnest($edition::varchar[]),
       unnest($detail::varchar[]), unnest($validated_at::timestamptz[]);

-- name: put_agreements
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

-- name: agreements
-- one row per metric and coefficient of the requested signatures
select s.metric, a.*
from agreements a
join signatures s using (signature_id)
where a.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, a.kind;
