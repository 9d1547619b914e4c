-- one row per candidate of the signatures asked for, contaminated ones ranked too: best first, then those without a rank
select
    l.* exclude (board),
    (select count(distinct paper_id) from plan p where p.signature_id = l.signature_id) as plan_papers,
    (select count(distinct paper_id) from sample) as sampled
from boards l
where l.board = 'all' and l.signature_id in (select unnest($signature_ids::varchar[]))
order by l.metric, l.unranked is not null, l.mean desc nulls last, l.candidate;
