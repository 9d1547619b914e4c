-- name: fill_board
-- one row per board, signature and candidate: its mean score with 90% intervals, its difference from the human
-- baseline, how certain its rank is, and its length and cost; changed reviews are in the table effects
-- Candidates are ranked only within their group.
-- The board 'clean' ranks no candidate that is known to be contaminated; the board 'all' ranks these too. If every
-- model of a group is contaminated, both boards rank them, because like is then compared with like.
-- A score is a mean over papers, and each paper counts with the mean of its pairs. So all papers have the same weight,
-- however many references they have.
-- The expected pairs are the (paper, reference) pairs that any candidate has under the signature. A candidate with
-- scores for fewer than 98% of them has no rank.
-- Where the human baseline's own review is a reference for the models, no pair of the human baseline is expected.
-- The interval by paper treats the pairs of one paper as one cluster; the flat one (Xu et al. 2025, figure 4) does not.
-- Where scores involve the chance score, papers that exchange reviews depend on each other. The error of a mean is then
-- computed by exchange, and that of a difference by the exchanges of both candidates (exchange_error in
-- gre_bench/stats/intervals.py).
delete from board;
insert into board by name
with known as materialized (
    select p.signature_id, p.candidate_id, p.paper_id, p.reference_id, p.state, p.value
    from pairs p
    join candidates c using (candidate_id)
    where c.kind not in ('change', 'graded')
),
counts as (
    select
        signature_id,
        candidate_id,
        count(*) as planned,
        count(*) filter (state = 'scored') as scored,
        count(*) filter (state = 'failed') as failed,
        count(*) filter (state = 'excluded') as excluded,
        count(*) filter (state = 'missing') as missing,
        avg(value order by value) as flat_mean,
        stddev_samp(value order by value) as sd
    from known
    group by all
),
expected as (
    select k.signature_id, count(*) as pairs, count(*) filter (s.review_id is null) as human_pairs
    from (select distinct signature_id, paper_id, reference_id from known where state <> 'excluded') k
    left join sample s on s.role = 'candidate' and s.paper_id = k.paper_id and s.review_id = k.reference_id
    group by all
),
human as (
    select signature_id, paper_id, reference_id, value
    from known
    where candidate_id = 'human' and state = 'scored'
),
-- grouped once: for a million scores, grouping into half a million groups takes most of the board's time
papers_of as (
    select
        c.signature_id,
        c.candidate_id,
        c.paper_id,
        avg(c.value order by c.value) as mean,
        avg(c.value - h.value order by c.value - h.value) filter (c.candidate_id <> 'human') as difference
    from known c
    left join human h using (signature_id, paper_id, reference_id)
    where c.state = 'scored'
    group by all
),
means as (
    select c.*, m.mean
    from counts c
    left join (select signature_id, candidate_id, avg(mean order by mean) as mean from papers_of group by all) m
        using (signature_id, candidate_id)
),
-- the independent units: papers or, if scores involve the chance score, sets of papers that exchange their reviews
units as (
    select signature_id, candidate_id, 1 as papers, mean as total
    from papers_of
    where signature_id in (select signature_id from signatures where chance = 'none')
    union all
    select p.signature_id, p.candidate_id, count(*), sum(p.mean order by p.mean)
    from papers_of p
    join signatures s on s.signature_id = p.signature_id and s.chance <> 'none'
    left join moved m on m.writer = s.writer and m.candidate_id = p.candidate_id and m.paper_id = p.paper_id
    group by p.signature_id, p.candidate_id, coalesce(m.swap, p.paper_id)
),
squares as (
    select u.signature_id, u.candidate_id, u.papers, (u.total - u.papers * m.mean) ** 2 as square
    from units u
    join means m using (signature_id, candidate_id)
),
clusters as (
    select
        u.signature_id,
        u.candidate_id,
        sum(u.papers)::bigint as papers,
        count(*) as units,
        case when count(*) > 1
            then sqrt(count(*) / (count(*) - 1) * sum(u.square order by u.square)) / sum(u.papers)
        end as se
    from squares u
    group by all
),
human_differences as (
    select
        signature_id,
        candidate_id,
        count(*) as papers,
        avg(difference order by difference) as mean,
        stddev_samp(difference order by difference) / sqrt(count(*)) as se
    from papers_of
    where difference is not null
    group by all
),
exchange_sums as (
    select
        p.signature_id,
        p.candidate_id,
        grouping(coalesce(a.swap, p.paper_id), coalesce(b.swap, p.paper_id)) as side,
        sum(p.difference - d.mean order by p.difference - d.mean) as total
    from papers_of p
    join signatures s on s.signature_id = p.signature_id and s.chance <> 'none'
    join human_differences d on d.signature_id = p.signature_id and d.candidate_id = p.candidate_id
    left join moved a on a.writer = s.writer and a.candidate_id = p.candidate_id and a.paper_id = p.paper_id
    left join moved b on b.writer = s.writer and b.candidate_id = 'human' and b.paper_id = p.paper_id
    where p.difference is not null
    group by grouping sets (
        (p.signature_id, p.candidate_id, coalesce(a.swap, p.paper_id)),
        (p.signature_id, p.candidate_id, coalesce(b.swap, p.paper_id)),
        (p.signature_id, p.candidate_id, coalesce(a.swap, p.paper_id), coalesce(b.swap, p.paper_id))
    )
),
exchange_sides as (
    select
        signature_id,
        candidate_id,
        side,
        count(*) as units,
        count(*) / (count(*) - 1) * sum(total ** 2 order by total ** 2) as square
    from exchange_sums
    group by all
    having count(*) > 1
),
exchange_errors as (
    select
        signature_id,
        candidate_id,
        min(units) as units,
        sqrt(greatest(
            max(square) filter (side = 1) + max(square) filter (side = 2) - max(square) filter (side = 0),
            max(square) filter (side = 0)
        )) as error
    from exchange_sides
    group by all
    having count(*) = 3
),
differences_to_human as (
    select
        d.signature_id,
        d.candidate_id,
        d.papers,
        d.mean,
        case when s.chance = 'none' then d.papers else e.units end as units,
        case when s.chance = 'none' then d.se else e.error / d.papers end as se
    from human_differences d
    join signatures s using (signature_id)
    left join exchange_errors e using (signature_id, candidate_id)
),
planned as (
    select
        signature_id,
        count(distinct paper_id) as papers,
        count(distinct paper_id) filter (state <> 'excluded') as expected_papers
    from plan
    group by all
),
boards_of as (select unnest(['clean', 'all']) as board),
judged as (
    select
        b.board,
        m.*,
        coalesce(k.papers, 0) as papers,
        k.units,
        k.se,
        c.kind,
        c.model,
        c.guideline,
        c.group_name,
        c.note,
        case when c.kind = 'model' then coalesce(x.status, 'unknown') else 'none' end as contamination,
        x.cutoff,
        x.released,
        coalesce(case when c.kind = 'human' then e.human_pairs else e.pairs end, 0) as expected,
        c.kind <> 'control' and m.scored > 0
            and m.scored >= 0.98 * case when c.kind = 'human' then e.human_pairs else e.pairs end
            and (
                b.board = 'all'
                or coalesce(x.status, 'unknown') <> 'contaminated'
                or bool_and(coalesce(x.status, 'unknown') = 'contaminated') filter (where c.kind = 'model')
                    over (partition by b.board, m.signature_id, c.group_name)
            ) as ranked
    from means m
    join candidates c using (candidate_id)
    cross join boards_of b
    left join clusters k using (signature_id, candidate_id)
    left join expected e using (signature_id)
    left join exposures x on x.role = 'candidate' and x.name = m.candidate_id
    where c.kind not in ('change', 'graded')
)
select
    j.board,
    s.metric,
    -- rounded, so that equal scores share a rank even if their parts were added in another order
    case when j.ranked
        then rank() over (partition by j.board, j.signature_id, j.group_name, j.ranked order by round(j.mean, 9) desc)
    end as rank,
    j.candidate_id as candidate,
    j.kind,
    j.mean as score,
    j.mean - t.q90 * j.se as low,
    j.mean + t.q90 * j.se as high,
    j.flat_mean - 1.6448536269514722 * j.sd / sqrt(j.scored) as flat_low,
    j.flat_mean + 1.6448536269514722 * j.sd / sqrt(j.scored) as flat_high,
    d.mean as vs_human,
    d.mean - u.q90 * d.se as vs_human_low,
    d.mean + u.q90 * d.se as vs_human_high,
    st.difference_p_holm as p,
    dp.p as p_alone,
    d.papers as vs_human_papers,
    d.units as vs_human_units,
    ch.above as above_chance,
    ch.above_low as above_chance_low,
    ch.above_high as above_chance_high,
    ch.above_p as above_chance_p,
    st.above_p_holm as above_chance_p_holm,
    -- the corrected p decides for ranked candidates; their own p for the others, which belong to no family of tests
    case when ch.above is not null
        then coalesce(ch.above > 0 and case when j.ranked then st.above_p_holm else ch.above_p end < 0.05, false)
    end as surely_above_chance,
    j.expected,
    j.planned,
    j.scored,
    j.failed,
    j.excluded,
    j.missing,
    j.papers,
    case
        when j.ranked then null
        when j.kind = 'control' then 'control'
        when j.planned = j.excluded then 'every pair is excluded'
        when j.scored < 0.98 * j.expected or j.scored = 0
            then format('only {} of {} pairs scored', j.scored, j.expected)
        else format('contaminated: learnt until {}, reviews of {}', j.cutoff, j.released)
    end as unranked,
    -- whether the metric, with this evaluation LM and writer, has passed its validation
    case
        when v.verdict is null then 'unvalidated'
        when v.verdict = 'pass' then format('validated on {}', v.edition)
        else format('unvalidated: {} on {}', v.verdict, v.edition)
    end as validation,
    st.rank_low,
    st.rank_high,
    st.next_candidate,
    st.next_p,
    st.tied,
    st.tests,
    st.problem as untested,
    pr.words,
    pr.human_words,
    pr.at_length,
    pr.at_length_low,
    pr.at_length_high,
    -- if the candidate wrote no text of about the human length, its score at that length is an extrapolation
    case when pr.at_length is not null then pr.human_words not between ln.shortest and ln.longest end as extrapolated,
    ln.shortest,
    ln.longest,
    pr.asked,
    pr.unusable,
    pr.judged,
    pr.unparsable,
    pr.lines,
    pr.strays,
    pr.median_lines,
    pr.human_lines,
    pr.covered,
    coalesce(pr.median_lines < 0.5 * pr.human_lines, false) as few_lines,
    pr.prompt_tokens,
    pr.reply_tokens,
    pr.usd,
    pr.conflict,
    j.contamination,
    j.cutoff,
    j.model,
    j.guideline,
    j.group_name,
    j.note,
    j.signature_id,
    pl.papers as plan_papers,
    pl.expected_papers,
    (select count(distinct paper_id) from sample) as sampled
from judged j
left join planned pl using (signature_id)
join signatures s using (signature_id)
left join validations v using (signature_id)
left join differences_to_human d using (signature_id, candidate_id)
left join student_t t on t.df = least(j.units - 1, 1000)
left join student_t u on u.df = least(d.units - 1, 1000)
left join chance ch using (signature_id, candidate_id)
left join differences dp using (signature_id, candidate_id)
left join rank_statistics st using (board, signature_id, candidate_id)
left join profiles pr using (signature_id, candidate_id)
left join lengths ln using (signature_id, candidate_id);

-- name: fill_strata
-- one row per signature, human baseline or model, and stratum of papers, such as the version of the PDF or the decision:
-- its mean score on these papers with a 90% interval, and its difference from the human baseline, paired by paper
-- Papers that do not come from notes have no strata.
-- As on the boards, the pairs of one paper are one cluster, and all papers have the same weight. Also as on the boards,
-- papers of a stratum that exchange reviews depend on each other where scores involve the chance score.
delete from strata;
insert into strata by name
with kinds_of_papers as (
    select paper_id, 'PDF version' as stratum, replace(coalesce(s.pdf_version_status, 'unknown'), '_', ' ') as value
    from papers
    left join paper_sources s using (paper_id)
    where exists (from snapshots)
    union all
    select paper_id, stratum, value from paper_strata
),
known as (
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
        sum(t.mean - m.mean order by t.mean - m.mean) ** 2 as square
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
        sqrt(sum(square order by square) / (count(*) - 1) / sum(u.papers) * (count(*) / sum(u.papers))) as se
    from squares u
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
        sum(t.difference - m.difference order by t.difference - m.difference) as total
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
        count(*) / (count(*) - 1) * sum(total ** 2 order by total ** 2) as square
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
            max(square) filter (side = 1) + max(square) filter (side = 2) - max(square) filter (side = 0),
            max(square) filter (side = 0)
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
