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
insert or replace into effects by name from incoming;

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
insert or replace into validations by name from incoming;

-- name: put_agreements
-- adds or replaces the agreement of metrics with grades
insert or replace into agreements by name from incoming;

-- name: agreements
-- one row per metric and coefficient of the requested signatures
select s.metric, a.*
from agreements a
join signatures s using (signature_id)
where a.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, a.kind;
