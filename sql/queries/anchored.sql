-- one row per signature and candidate that is no anchor: its difference to the mean of the anchors, paired by pair
with anchor as (
    select signature_id, paper_id, reference_id, avg(value) as value
    from pairs
    where state = 'scored' and candidate_id in (select unnest($anchors::varchar[]))
    group by all
    having count(*) = len($anchors::varchar[])
),
by_paper as (
    select p.signature_id, p.candidate_id, p.paper_id, avg(p.value - a.value) as difference
    from pairs p
    join anchor a using (signature_id, paper_id, reference_id)
    join candidates c on c.candidate_id = p.candidate_id and c.kind in ('human', 'model')
    where p.state = 'scored' and p.candidate_id not in (select unnest($anchors::varchar[]))
      and p.signature_id in (select unnest($signature_ids::varchar[]))
    group by all
),
found as (
    select
        signature_id,
        candidate_id,
        count(*) as papers,
        avg(difference) as difference,
        stddev_samp(difference) / sqrt(count(*)) as se
    from by_paper
    group by all
)
select
    s.metric,
    f.signature_id,
    f.candidate_id as candidate,
    f.papers,
    f.difference,
    f.difference - t.q90 * f.se as low,
    f.difference + t.q90 * f.se as high,
    f.se,
    l.mean,
    l.above_chance,
    l.above_chance_high,
    l.surely_above_chance,
    l.contamination,
    l.unranked
from found f
join signatures s using (signature_id)
join leaderboard l on l.signature_id = f.signature_id and l.candidate = f.candidate_id
left join student_t t on t.df = least(f.papers - 1, 1000)
order by s.metric, f.signature_id, f.candidate_id;
