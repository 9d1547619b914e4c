-- in this folder: duckdb -init views.sql
create or replace view agreements as from 'tables/agreements.parquet';
create or replace view candidates as from 'tables/candidates.parquet';
create or replace view chance as from 'tables/chance.parquet';
create or replace view changes as from 'tables/changes.parquet';
create or replace view differences as from 'tables/differences.parquet';
create or replace view draws as from 'tables/draws.parquet';
create or replace view effects as from 'tables/effects.parquet';
create or replace view exposures as from 'tables/exposures.parquet';
create or replace view judgment_kinds as from 'tables/judgment_kinds.parquet';
create or replace view judgments as from 'tables/judgments.parquet';
create or replace view lengths as from 'tables/lengths.parquet';
create or replace view licences as from 'tables/licences.parquet';
create or replace view meta as from 'tables/meta.parquet';
create or replace view metrics as from 'tables/metrics.parquet';
create or replace view models as from 'tables/models.parquet';
create or replace view moved as from 'tables/moved.parquet';
create or replace view paper_sources as from 'tables/paper_sources.parquet';
create or replace view paper_strata as from 'tables/paper_strata.parquet';
create or replace view papers as from 'tables/papers.parquet';
create or replace view pieces as from 'tables/pieces.parquet';
create or replace view plan as from 'tables/plan.parquet';
create or replace view problems as from 'tables/problems.parquet';
create or replace view profiles as from 'tables/profiles.parquet';
create or replace view rank_statistics as from 'tables/rank_statistics.parquet';
create or replace view replies as from 'tables/replies.parquet';
create or replace view review_versions as from 'tables/review_versions.parquet';
create or replace view reviews as from 'tables/reviews.parquet';
create or replace view sample as from 'tables/sample.parquet';
create or replace view scores as from 'tables/scores.parquet';
create or replace view separation as from 'tables/separation.parquet';
create or replace view signatures as from 'tables/signatures.parquet';
create or replace view signatures_shown as from 'tables/signatures_shown.parquet';
create or replace view snapshots as from 'tables/snapshots.parquet';
create or replace view spans as from 'tables/spans.parquet';
create or replace view student_t as from 'tables/student_t.parquet';
create or replace view synopses as from 'tables/synopses.parquet';
create or replace view text_words as from 'tables/text_words.parquet';
create or replace view texts as from 'tables/texts.parquet';
create or replace view validations as from 'tables/validations.parquet';
create or replace view word_counts as from 'tables/word_counts.parquet';

-- macro: the share of the distinct words of a review that its judgments keep; null if the review has no words
create or replace macro distinct_words(text) as
    list_distinct(regexp_extract_all(lower(text), '[a-z0-9][a-z0-9-]+'));

create or replace macro words_kept(review, judgments) as
    len(list_intersect(distinct_words(review), distinct_words(judgments)))
    / nullif(len(distinct_words(review)), 0);
-- one row per planned pair: its state, and its score in nats or the reason why it has none
create or replace view pairs as
with last_problem as (
    select signature_id, paper_id, candidate_id, reference_id, arg_max(problem, (happened_at, problem, message)) as problem,
           arg_max(message, (happened_at, problem, message)) as message
    from problems
    group by all
)
select
    p.signature_id,
    p.paper_id,
    p.candidate_id,
    p.reference_id,
    case
        when p.state = 'waiting' then 'missing'
        when p.state <> 'due' then p.state
        when s.value is not null then 'scored'
        when s.problem is not null then 'failed'
        else 'missing'
    end as state,
    case when p.state = 'due' then s.value end as value,
    -- a pair with a score has no reason; earlier problems of the pair stay in the table problems
    case
        when p.state <> 'due' then p.reason
        when s.value is null then coalesce(s.problem, l.problem)
    end as reason,
    case
        when p.state <> 'due' then p.detail
        when s.value is null then coalesce(s.problem_message, l.message)
    end as message,
    coalesce(s.broken, false) as broken
from plan p
left join scores s using (signature_id, paper_id, candidate_id, reference_id)
left join last_problem l using (signature_id, paper_id, candidate_id, reference_id);
-- one row per signature: how many of its planned pairs are in which state
create or replace view progress as
select
    signature_id,
    s.metric,
    count(*) as planned,
    count(*) filter (state = 'scored') as scored,
    count(*) filter (state = 'failed') as failed,
    count(*) filter (state = 'excluded') as excluded,
    count(*) filter (state = 'missing') as missing
from pairs
join signatures s using (signature_id)
group by all;
-- one row per board, signature and candidate: mean score, its 90% intervals, its difference to the human baseline, how
-- sure its rank is, its length and cost; changed reviews are in effects
-- Candidates of a group are ranked among themselves, by the tests between them.
-- The board 'clean' ranks no candidate that is known to be contaminated, the board 'all' ranks these too. If every
-- model of a group is contaminated, both rank them: the comparison is then among equals.
-- A mean is over papers, each the mean of its pairs: papers weigh alike, however many references they have.
-- Expected pairs: the (paper, reference) pairs that any candidate has under the signature. With under 98%: no rank.
-- The human baseline is not expected against itself, where its review is a reference of the models.
-- The interval by paper treats the pairs of one paper as one cluster; the flat one (Xu et al. 2025, figure 4) does not.
create or replace view boards as
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
-- the independent units: papers, or for scores by chance, papers that exchange their reviews
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
    -- rounded, so that equal scores share a rank in whatever order they were added up
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
    ch.above as above_chance,
    ch.above_low as above_chance_low,
    ch.above_high as above_chance_high,
    ch.above_p as above_chance_p,
    st.above_p_holm as above_chance_p_holm,
    -- ranked candidates: by the corrected p; others, which belong to no family of tests: by their own p
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
    -- the human length is one that the candidate never wrote at: its score there is an extrapolation
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
    j.signature_id
from judged j
join signatures s using (signature_id)
left join validations v using (signature_id)
left join human_differences d using (signature_id, candidate_id)
left join student_t t on t.df = least(j.units - 1, 1000)
left join student_t u on u.df = least(d.papers - 1, 1000)
left join chance ch using (signature_id, candidate_id)
left join differences dp using (signature_id, candidate_id)
left join rank_statistics st using (board, signature_id, candidate_id)
left join profiles pr using (signature_id, candidate_id)
left join lengths ln using (signature_id, candidate_id);
-- one row per signature and candidate of the board that ranks no contaminated candidate: see boards, which has both
create or replace view leaderboard as
select * exclude (board)
from boards
where board = 'clean';
-- one row per paper and stratum that it belongs to, such as the version of its PDF or its decision
-- Papers that come from no notes have no strata.
create or replace view kinds_of_papers as
select paper_id, 'PDF version' as stratum, replace(coalesce(s.pdf_version_status, 'unknown'), '_', ' ') as value
from papers
left join paper_sources s using (paper_id)
where exists (from snapshots)
union all
select paper_id, stratum, value from paper_strata;
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
