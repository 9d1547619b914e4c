-- one row per signature asked for that has both: contaminated candidates against the others, paired by paper and reference
with by_pair as (
    select
        p.signature_id,
        p.paper_id,
        p.reference_id,
        avg(p.value) filter (x.status = 'contaminated') as contaminated,
        avg(p.value) filter (x.status is distinct from 'contaminated') as others
    from pairs p
    join candidates c on c.candidate_id = p.candidate_id and c.kind = 'model'
    left join exposures x on x.role = 'candidate' and x.name = p.candidate_id
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
