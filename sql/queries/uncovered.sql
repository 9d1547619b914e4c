-- one row per candidate that lacks reviews of papers that were planned for it: how many of how many, and the first three
with lacking as (
    select
        p.candidate_id,
        count(distinct p.paper_id) as papers,
        count(distinct p.paper_id) filter (p.reason = 'no_review') as lacking,
        list(distinct p.paper_id) filter (p.reason = 'no_review') as ids
    from plan p
    where p.signature_id in (select unnest($signature_ids::varchar[]))
    group by all
)
select candidate_id as candidate, papers, lacking, list_sort(ids)[1:3] as examples
from lacking
where lacking > 0
order by candidate;
