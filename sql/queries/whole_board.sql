-- one row per candidate of the signatures asked for, contaminated ones ranked too: as in leaderboard
with planned as (
    select signature_id, count(distinct paper_id) as papers
    from plan
    group by all
)
select l.* exclude (board), p.papers as plan_papers, (select count(distinct paper_id) from sample) as sampled
from boards l
left join planned p using (signature_id)
where l.board = 'all' and l.signature_id in (select unnest($signature_ids::varchar[]))
order by not starts_with(l.validation, 'validated'), l.metric, l.unranked is not null, l.mean desc nulls last, l.candidate;
