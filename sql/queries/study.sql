-- name: separation
-- one row per requested signature that has a separation
select s.metric, p.*
from separation p
join signatures s using (signature_id)
where p.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;

-- name: effects
-- one row per metric and change of the requested signatures (all, if null)
select s.metric, e.*
from effects e
join signatures s using (signature_id)
where $signature_ids is null or e.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric, e.family, e.change;

-- name: validations
-- one row per requested signature (all, if null): the result of its validation
select s.metric, v.signature_id, v.verdict, v.edition, v.detail, v.validated_at
from validations v
join signatures s using (signature_id)
where $signature_ids is null or v.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;
