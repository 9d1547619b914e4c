-- one row per signature, human baseline or model, and stratum of papers: its mean score there, its 90% interval, and its
-- difference to the human baseline, paired by paper
-- The pairs of one paper are one cluster, and papers weigh alike, as on the boards.
create or replace view strata as
with known as (
    select p.signature_id, p.candidate_id, c.kind, p.paper_id, p.reference_id, p.value
    from pairs p
    join candidates c using (candidate_id)
    where c.kind in ('human', 'model') and p.state = 'scored'
),
papers_of as (
    select
        k.signature_id,
        k.candidate_id,
        k.kind,
        k.paper_id,
        avg(k.value order by k.value) as mean,
        avg(k.value - h.value order by k.value - h.value) filter (k.kind <> 'human') as difference
    from known k
    left join known h on h.kind = 'human' and h.signature_id = k.signature_id and h.paper_id = k.paper_id
        and h.reference_id = k.reference_id
    group by all
),
there as (
    select s.stratum, s.value, p.*
    from papers_of p
    join kinds_of_papers s using (paper_id)
),
means as (
    select
        signature_id,
        candidate_id,
        kind,
        stratum,
        value,
        count(*) as papers,
        avg(mean order by mean) as mean,
        count(difference) as both,
        avg(difference order by difference) as difference,
        stddev_samp(difference order by difference) / sqrt(count(difference)) as difference_se
    from there
    group by all
),
squares as (
    select t.signature_id, t.candidate_id, t.stratum, t.value, (t.mean - m.mean) ** 2 as square
    from there t
    join means m using (signature_id, candidate_id, stratum, value)
),
errors as (
    select
        signature_id,
        candidate_id,
        stratum,
        value,
        sqrt(sum(square order by square) / (count(*) - 1) / count(*)) as se
    from squares
    group by all
    having count(*) > 1
)
select
    m.signature_id,
    m.stratum,
    m.value,
    m.candidate_id as candidate,
    m.kind,
    m.papers,
    m.mean as score,
    m.mean - t.q90 * e.se as low,
    m.mean + t.q90 * e.se as high,
    m.difference as vs_human,
    m.difference - u.q90 * m.difference_se as vs_human_low,
    m.difference + u.q90 * m.difference_se as vs_human_high,
    m.both as vs_human_papers
from means m
left join errors e using (signature_id, candidate_id, stratum, value)
left join student_t t on t.df = least(m.papers - 1, 1000)
left join student_t u on u.df = least(m.both - 1, 1000);
