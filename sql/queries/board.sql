-- name: leaderboard
-- one row per candidate of the requested signatures: validated metrics come first, and on each board the best
-- candidates; those without a rank come last
-- The board 'all' also ranks contaminated candidates; the board 'clean' does not.
select l.* exclude (board)
from board l
where l.board = $board and l.signature_id in (select unnest($signature_ids::varchar[]))
order by not starts_with(l.validation, 'validated'), l.metric, l.group_name nulls first, l.unranked is not null, l.score desc nulls last, l.candidate;

-- name: ranked
-- one row per requested signature, board and ranked candidate: group by group, the best first
select signature_id, board, group_name, candidate, rank
from board
where signature_id in (select unnest($signature_ids::varchar[])) and rank is not null
order by signature_id, board, group_name nulls first, rank, candidate;

-- name: pair_tests
-- one row for every two ranked candidates of a group on a board: the test between them
select
    first, second, difference, low, high, sd, p, p_holm, papers, ahead, behind, median, trimmed, trimmed_low, trimmed_high,
    sign_p
from pair_tests
where board = $board and signature_id = $signature_id
order by first, second;

-- name: stale_ranks
-- one row per rank of the requested signatures that only their boards or only their rank statistics have
with on_boards as (
    select signature_id, board, candidate, rank from board where rank is not null
),
stated as (
    select signature_id, board, candidate_id as candidate, rank from rank_statistics
)
select *
from ((from on_boards except from stated) union all (from stated except from on_boards))
where signature_id in (select unnest($signature_ids::varchar[]));

-- name: board_settings
-- at most one row: the settings of the run that planned the leaderboard's signatures; later runs' settings may differ
select settings
from runs
where run_id = (
    select p.run_id
    from plan p
    join runs r using (run_id)
    order by r.command = 'refresh' desc, r.started_at desc
    limit 1
);

-- name: board_texts
-- one row per candidate, task and requested writer: the outcomes of its reviews and of their judgments
with asked as (
    select *, regexp_extract(item, '[^:]*$') as candidate_id
    from replies
    where task = 'review'
    union all
    select p.*, r.candidate
    from replies p
    join reviews r on r.review_id = p.item
    where p.task = 'judgments' and p.writer = $writer and r.paper_id in (select paper_id from sample)
      and (r.candidate <> 'human' or r.review_id in (select review_id from sample where role = 'candidate'))
)
select
    candidate_id,
    task,
    writer,
    count(*) as asked,
    count(*) filter (outcome <> 'ok') as unusable,
    count(*) filter (prompt_tokens is null or reply_tokens is null) as unstated,
    sum(prompt_tokens) as prompt_tokens,
    sum(reply_tokens) as reply_tokens
from asked
group by all
order by all;

-- name: board_judgments
-- one row per candidate: how many of its reviews one writer judged, and how many of these in vain; how many lines the
-- writer wrote, and how many of these are no judgments; the median number of judgments of the reviews with any; and
-- the share of a review's distinct words that its judgments keep: 0 for a review without judgments
-- A review is judged in vain if nothing in its text makes a judgment, or if an LM's reply could not be read as
-- judgments.
with texts as (
    select candidate as candidate_id, review_id, text
    from reviews
    where paper_id in (select paper_id from sample)
      and (candidate <> 'human' or review_id in (select review_id from sample where role = 'candidate'))
),
judged as (
    select review_id, lines, strays, text as judgments
    from judgments
    where writer = $writer
    union all
    select item, 0, 0, null
    from replies
    where task = 'judgments' and writer = $writer and outcome in ('no_judgments', 'unparsable')
)
select
    j.candidate_id,
    count(*) as judged,
    count(*) filter (j.lines = 0) as unparsable,
    sum(j.lines + j.strays)::integer as lines,
    sum(j.strays)::integer as strays,
    median(j.lines) filter (j.lines > 0) as median_lines,
    avg(j.kept order by j.kept) as covered
from (
    select *, case when lines > 0 then words_kept(text, judgments) when text is not null then 0 end as kept
    from texts
    join judged using (review_id)
) j
group by all
order by all;

-- name: board_lengths
-- one row per candidate of the boards and paper: the number of words of the text that a metric reads (source: judgments
-- or review)
with read_by_metric as (
    select
        r.candidate as candidate_id,
        r.paper_id,
        case
            when $source = 'review' then left(regexp_replace(r.text, '^[\s\p{Z}]+', ''), $cut)
            when $form = 'as_written' then j.text
            else array_to_string(
                list_filter(
                    string_split_regex(j.text, '\r?\n'),
                    lambda line: regexp_matches(line, '^\s*The reviewer (appreciates|criticizes|questions|suggests)')
                ), chr(10))
        end as text
    from reviews r
    left join judgments j on j.review_id = r.review_id and j.writer = $writer
    where r.review_id in (select review_id from sample where role = 'candidate') or (
        r.candidate in (select candidate_id from candidates where kind = 'model')
        and r.paper_id in (select paper_id from sample)
    )
)
select candidate_id, paper_id, len(string_split_regex(trim(text, ' ' || chr(9) || chr(10) || chr(13)), '\s+')) as words
from read_by_metric
where text is not null and regexp_matches(text, '\S')
union all
select w.candidate_id, w.paper_id, w.words
from word_counts w
anti join (select * from read_by_metric where text is not null) using (candidate_id, paper_id)
where w.source = $source and w.writer = $writer and w.form = $form and w.cut = $cut
order by candidate_id, paper_id;

-- name: anchored
-- one row per signature and candidate that is not an anchor: its difference from the mean of the anchors on the same
-- pairs
-- If a metric has chance in its score, papers depend on each other by the exchanges of all anchors. Only if the human
-- baseline is the only anchor is there then an interval: that of the board.
with anchor as (
    select signature_id, paper_id, reference_id, avg(value order by value) as value
    from pairs
    where state = 'scored' and candidate_id in (select unnest($anchors::varchar[]))
    group by all
    having count(*) = len($anchors::varchar[])
),
by_paper as (
    select p.signature_id, p.candidate_id, p.paper_id, avg(p.value - a.value order by p.value - a.value) as difference
    from pairs p
    join anchor a using (signature_id, paper_id, reference_id)
    join candidates c on c.candidate_id = p.candidate_id and c.kind in ('human', 'model', 'control')
    where p.state = 'scored' and p.candidate_id not in (select unnest($anchors::varchar[]))
      and p.signature_id in (select unnest($signature_ids::varchar[]))
    group by all
),
found as (
    select
        signature_id,
        candidate_id,
        count(*) as papers,
        avg(difference order by difference) as difference,
        stddev_samp(difference order by difference) / sqrt(count(*)) as se
    from by_paper
    group by all
)
select
    s.metric,
    f.signature_id,
    f.candidate_id as candidate,
    l.kind,
    f.papers,
    case when s.chance = 'none' then f.papers else l.vs_human_units end as units,
    f.difference,
    case
        when s.chance = 'none' then f.difference - t.q90 * f.se
        when $anchors::varchar[] = ['human'] then l.vs_human_low
    end as low,
    case
        when s.chance = 'none' then f.difference + t.q90 * f.se
        when $anchors::varchar[] = ['human'] then l.vs_human_high
    end as high,
    case
        when s.chance = 'none' then f.se
        when $anchors::varchar[] = ['human'] then (l.vs_human_high - l.vs_human) / t.q90
    end as se,
    l.score as mean,
    l.above_chance,
    l.above_chance_high,
    l.surely_above_chance,
    l.contamination,
    l.unranked
from found f
join signatures s using (signature_id)
join board l on l.board = 'clean' and l.signature_id = f.signature_id and l.candidate = f.candidate_id
left join student_t t on t.df = least(case when s.chance = 'none' then f.papers else l.vs_human_units end - 1, 1000)
order by s.metric, f.signature_id, f.candidate_id;

-- name: strata
-- one row per requested signature, stratum, value of the stratum and candidate: its scores on these papers; values with
-- the most papers come first
select * exclude (vs_human_papers)
from strata
where signature_id in (select unnest($signature_ids::varchar[]))
order by signature_id, stratum, max(papers) over (partition by signature_id, stratum, value) desc, value,
         kind <> 'human', score desc, candidate;

-- name: sampled_strata
-- one row per stratum and value: the number of sampled papers; the stratum 'PDF version' comes first
with kinds_of_papers as (
    select paper_id, 'PDF version' as stratum, replace(coalesce(s.pdf_version_status, 'unknown'), '_', ' ') as value
    from papers
    left join paper_sources s using (paper_id)
    where exists (from snapshots)
    union all
    select paper_id, stratum, value from paper_strata
)
select stratum, value, count(*) as papers
from kinds_of_papers
where paper_id in (select paper_id from sample)
group by stratum, value
order by stratum <> 'PDF version', stratum, papers desc, value;

-- name: clean_gap
-- one row per requested signature: how much higher contaminated candidates score than the others of their group, paired
-- by paper and reference
-- Only signatures that have both kinds of candidates in one group have a row. A metric with chance in its score has no
-- interval, because papers depend on each other by the exchanges of all candidates.
with models as (
    select c.candidate_id, c.group_name, x.status is not distinct from 'contaminated' as contaminated
    from candidates c
    left join exposures x on x.role = 'candidate' and x.name = c.candidate_id
    -- if no candidate is contaminated, there is no gap, so no pair is read
    where c.kind = 'model' and exists (select 1 from exposures where role = 'candidate' and status = 'contaminated')
),
by_pair as (
    select
        p.signature_id,
        m.group_name,
        p.paper_id,
        p.reference_id,
        avg(p.value order by p.value) filter (m.contaminated) as contaminated,
        avg(p.value order by p.value) filter (not m.contaminated) as others
    from pairs p
    join models m using (candidate_id)
    where p.state = 'scored' and p.signature_id in (select unnest($signature_ids::varchar[]))
    group by all
),
by_paper as (
    select signature_id, paper_id, avg(contaminated - others order by contaminated - others) as gap
    from by_pair
    where contaminated is not null and others is not null
    group by all
),
gaps as (
    select signature_id, count(*) as papers, avg(gap order by gap) as gap, stddev_samp(gap order by gap) / sqrt(count(*)) as se
    from by_paper
    group by all
),
named as (
    select signature_id, list_sort(list(distinct candidate_id)) as candidates
    from pairs
    join models m using (candidate_id)
    where state = 'scored' and m.contaminated and signature_id in (select unnest($signature_ids::varchar[]))
      and exists (select 1 from models o where not o.contaminated and o.group_name is not distinct from m.group_name)
    group by all
)
select
    s.metric, g.signature_id, n.candidates, g.gap, g.gap - t.q90 * g.se as low, g.gap + t.q90 * g.se as high, g.papers
from gaps g
join signatures s using (signature_id)
join named n using (signature_id)
left join student_t t on s.chance = 'none' and t.df = least(g.papers - 1, 1000)
order by s.metric;

-- name: exposures
-- one row per role and name
from exposures
order by role, name;

-- name: human_differences
-- one row per candidate and paper of one signature: how far its mean score on shared references is above the human
-- baseline's
-- own, human: the exchanges of reviews that this difference depends on, those of the candidate and of the human
-- baseline; null unless the metric has chance in its score
select
    p.candidate_id,
    p.paper_id,
    avg(p.value - h.value order by p.value - h.value) as difference,
    any_value(case when g.chance <> 'none' then coalesce(a.swap, p.paper_id) end) as own,
    any_value(case when g.chance <> 'none' then coalesce(b.swap, p.paper_id) end) as human
from pairs p
join signatures g using (signature_id)
join pairs h on h.signature_id = p.signature_id and h.paper_id = p.paper_id and h.reference_id = p.reference_id
    and h.candidate_id = 'human' and h.state = 'scored'
join candidates c on c.candidate_id = p.candidate_id and c.kind in ('model', 'control')
left join moved a on a.writer = g.writer and a.candidate_id = p.candidate_id and a.paper_id = p.paper_id
left join moved b on b.writer = g.writer and b.candidate_id = 'human' and b.paper_id = p.paper_id
where p.signature_id = $signature_id and p.state = 'scored'
group by p.candidate_id, p.paper_id
order by all;
