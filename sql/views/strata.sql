-- one row per signature, human baseline or model, and stratum of papers: its mean score there, its 90% interval, and its
-- difference to the human baseline, paired by paper
-- The pairs of one paper are one cluster, and papers weigh alike, as on the boards. Where scores have the score by chance
-- in them, papers of a stratum that exchange reviews depend on each other, as on the boards too.
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
    select
        s.stratum,
        s.value,
        p.*,
        coalesce(a.swap, p.paper_id) as own,
        coalesce(b.swap, p.paper_id) as human
    from papers_of p
    join kinds_of_papers s using (paper_id)
    join signatures g using (signature_id)
    left join moved a on g.chance <> 'none' and a.writer = g.writer and a.candidate_id = p.candidate_id
        and a.paper_id = p.paper_id
    left join moved b on g.chance <> 'none' and b.writer = g.writer and b.candidate_id = 'human' and b.paper_id = p.paper_id
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
    select
        t.signature_id,
        t.candidate_id,
        t.stratum,
        t.value,
        count(*) as papers,
        sum(t.mean - m.mean order by t.mean) ** 2 as square
    from there t
    join means m using (signature_id, candidate_id, stratum, value)
    group by t.signature_id, t.candidate_id, t.stratum, t.value, t.own
),
errors as (
    select
        signature_id,
        candidate_id,
        stratum,
        value,
        count(*) as units,
        sqrt(sum(square order by square) / (count(*) - 1) / sum(papers) * (count(*) / sum(papers))) as se
    from squares
    group by all
    having count(*) > 1
),
exchange_sums as (
    select
        t.signature_id,
        t.candidate_id,
        t.stratum,
        t.value,
        grouping(t.own, t.human) as side,
        sum(t.difference - m.difference order by t.difference) as total
    from there t
    join signatures s on s.signature_id = t.signature_id and s.chance <> 'none'
    join means m on m.signature_id = t.signature_id and m.candidate_id = t.candidate_id and m.stratum = t.stratum
        and m.value = t.value
    where t.difference is not null
    group by grouping sets (
        (t.signature_id, t.candidate_id, t.stratum, t.value, t.own),
        (t.signature_id, t.candidate_id, t.stratum, t.value, t.human),
        (t.signature_id, t.candidate_id, t.stratum, t.value, t.own, t.human)
    )
),
exchange_sides as (
    select
        signature_id,
        candidate_id,
        stratum,
        value,
        side,
        count(*) as units,
        count(*) / (count(*) - 1) * sum(total ** 2 order by total) as square
    from exchange_sums
    group by all
    having count(*) > 1
),
exchange_errors as (
    select
        signature_id,
        candidate_id,
        stratum,
        value,
        min(units) as units,
        sqrt(greatest(
            sum(case when side = 0 then -square else square end order by side), max(square) filter (side = 0)
        )) as error
    from exchange_sides
    group by all
    having count(*) = 3
),
differences_to_human as (
    select
        m.signature_id,
        m.candidate_id,
        m.stratum,
        m.value,
        case when s.chance = 'none' then m.both else e.units end as units,
        case when s.chance = 'none' then m.difference_se else e.error / m.both end as se
    from means m
    join signatures s using (signature_id)
    left join exchange_errors e using (signature_id, candidate_id, stratum, value)
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
    m.difference - u.q90 * d.se as vs_human_low,
    m.difference + u.q90 * d.se as vs_human_high,
    m.both as vs_human_papers
from means m
left join errors e using (signature_id, candidate_id, stratum, value)
left join differences_to_human d using (signature_id, candidate_id, stratum, value)
left join student_t t on t.df = least(e.units - 1, 1000)
left join student_t u on u.df = least(d.units - 1, 1000);
