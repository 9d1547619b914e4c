-- one row per signature asked for (all, if null): what its validation came to
select s.metric, v.signature_id, v.verdict, v.edition, v.detail, v.validated_at
from validations v
join signatures s using (signature_id)
where $signature_ids is null or v.signature_id in (select unnest($signature_ids::varchar[]))
order by s.metric;
