-- one row per signature asked for that has both: contaminated candidates against the others, paired by paper and reference
with models as (
    select c.candidate_id, x.status is not distinct from 'contaminated' as contaminated
    from candidates c
    left join exposures x on x.role = 'candidate' and x.name = c.candidate_id
    -- where nobody is contaminated there is no gap, and no pair is read
    where c.kind = 'model' and exists (select 1 from exposures where role = 'candidate' and status = 'contaminated')
),
by_pair as (
    select
        p.signature_id,
        p.paper_id,
        p.reference_id,
        avg(p.value) filter (m.contaminated) as contaminated,
        avg(p.value) filter (not m.contaminated) as others
    from pairs p
    join models m using (candidate_id)
    where p.state = 'scored' and p.signature_id in (select unnest($signature_ids::varchar[]))
    group by all
),
by_paper as (
    select signature_id, paper_id, avg(contaminated - others) as gap
    from by_pair
    where contaminated is not null and others is not null
    group by all
),
gaps as (
    select signature_id, count(*) as papers, avg(gap) as gap, stddev_samp(gap) / sqrt(count(*)) as se
    from by_paper
    group by all
)
select s.metric, g.signature_id, g.gap, g.gap - t.q90 * g.se as low, g.gap + t.q90 * g.se as high, g.papers
from gaps g
join signatures s using (signature_id)
left join student_t t on t.df = least(g.papers - 1, 1000)
order by s.metric;
