-- name: judgments
-- one row per review and writer
select review_id, writer, text
from judgments
order by review_id, writer;

-- name: described_judgments
-- one row per candidate of the given reviews: how many have judgments, the median number of judgments of these, and the
-- share of a review's distinct words that its judgments keep: 0 for a review without judgments
select
    candidate_id,
    count(*) as reviews,
    count(*) filter (lines > 0) as judged,
    median(lines) filter (lines > 0) as median_lines,
    avg(kept order by kept) as covered,
    arg_max(review_id, (lines, review_id)) as longest_id
from (
    select *, case when lines > 0 then words_kept(review, judgments) else 0 end as kept
    from (
        select
            unnest($candidate_id::varchar[]) as candidate_id,
            unnest($review_id::varchar[]) as review_id,
            unnest($review::varchar[]) as review,
            unnest($judgments::varchar[]) as judgments,
            unnest($lines::integer[]) as lines
    )
)
group by all
order by candidate_id;

-- name: judged_examples
-- one row per candidate and writer: the first judgment of the candidate's sampled review with the most judgments
-- A candidate whose texts are withheld has no row.
select
    r.candidate as candidate_id,
    j.writer,
    split_part(trim(arg_max(j.text, (j.lines, r.review_id)), chr(10) || chr(13) || ' '), chr(10), 1) as example
from reviews r
join judgments j using (review_id)
where j.writer in (select unnest($writers::varchar[])) and j.text is not null and j.lines > 0 and (
    r.review_id in (select review_id from sample where role = 'candidate')
    or (r.candidate in (select candidate_id from candidates where kind = 'model')
        and r.paper_id in (select paper_id from sample))
)
group by all
order by all;

-- name: synopses
-- one row per paper with a synopsis of this kind by this writer
select paper_id, text
from synopses
where kind = $kind and writer = $writer;

-- name: asked_for
-- one row per candidate and writer that was asked for its reviews; the item of a review ends with the candidate's name
select distinct regexp_extract(item, '[^:]*$') as candidate, writer, outcome = 'ok' as wrote
from replies
where task = 'review';

-- name: unwritten
-- one row per text of a task that a writer was asked for in vain
select item, outcome, detail, final
from replies
where task = $task and writer = $writer and outcome <> 'ok';

-- name: forget_unwritten
-- marks problems of writing as transient, so that the texts are requested again
update replies set final = false where outcome <> 'ok' and final;

-- name: text_outcomes
-- one row per task, writer and outcome of the requested texts; a text cut at the token limit counts as cut
select
    task,
    writer,
    case when outcome = 'ok' and detail = 'cut at the token limit' then 'cut' else outcome end as outcome,
    count(*) as texts,
    count(*) filter (where not final) as to_be_asked_again,
    count(*) filter (where archived) as from_the_archive,
    sum(prompt_tokens)::bigint as prompt_tokens,
    sum(reply_tokens)::bigint as reply_tokens
from replies
group by all
order by task, writer, texts desc, outcome;

-- name: outcomes
-- one row per candidate, purpose and LM: the outcomes of the requested texts and grades, each by its last attempt
-- The candidate is null for synopses, which belong to papers. A text that was cut at the token limit but used counts as
-- cut, not as ok.
with whose as (
    select review_id, case role when 'candidate' then 'human' else 'references' end as candidate
    from sample
    union all
    select review_id, candidate
    from reviews
    where candidate <> 'human'
),
grading as (
    select signature_id, 'grades of ' || metric as purpose, evaluation_lm as lm
    from signatures
    where (metric = 'lm_examiner' or starts_with(metric, 'examiner.')) and evaluation_lm <> 'none'
),
-- a pair that is still missing, with its latest problem
waiting as (
    select p.signature_id, p.candidate_id, p.problem
    from problems p
    anti join scores s using (signature_id, paper_id, candidate_id, reference_id)
    qualify row_number() over (
        partition by p.signature_id, p.paper_id, p.candidate_id, p.reference_id order by p.happened_at desc, p.problem
    ) = 1
),
asked as (
    select
        case p.task when 'review' then regexp_extract(p.item, '[^:]*$') when 'judgments' then w.candidate end as candidate,
        case p.task when 'review' then 'reviews' when 'assw' then 'synopses' else 'judgments' end as purpose,
        p.writer as lm,
        case when p.outcome = 'ok' and p.detail = 'cut at the token limit' then 'cut' else p.outcome end as outcome
    from replies p
    left join whose w on w.review_id = p.item and p.task = 'judgments'
    where not regexp_matches(p.writer, '^(rule|extractive)')
    union all
    select s.candidate_id, g.purpose, g.lm, coalesce(s.problem, 'ok')
    from scores s
    join grading g using (signature_id)
    union all
    select w.candidate_id, g.purpose, g.lm, w.problem
    from waiting w
    join grading g using (signature_id)
)
select
    candidate,
    purpose,
    split_part(lm, ' · ', 1) as model,
    count(*) as asked,
    count(*) filter (outcome = 'ok') as ok,
    count(*) filter (outcome = 'cut') as cut,
    count(*) filter (outcome = 'refused') as refused,
    count(*) filter (outcome = 'empty') as empty,
    count(*) filter (outcome = 'unparsable') as unparsable,
    count(*) filter (outcome = 'rate_limited') as rate_limited,
    count(*) filter (outcome = 'failed') as failed,
    -- requests that could not be made: no text of the paper, no text to grade, ...
    count(*) filter (outcome not in ('ok', 'cut', 'refused', 'empty', 'unparsable', 'rate_limited', 'failed')) as not_asked
from asked
group by all
order by all;
