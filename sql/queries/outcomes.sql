-- one row per candidate, purpose and LM that was asked: what became of the texts and grades, by the last attempt at each
-- Candidate is null for synopses, which belong to papers; a text cut at the token limit and used is cut, not ok.
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
-- a pair that is still missing, with the last of what kept it
waiting as (
    select p.signature_id, p.candidate_id, p.problem
    from problems p
    anti join scores s using (signature_id, paper_id, candidate_id, reference_id)
    qualify row_number() over (
        partition by p.signature_id, p.paper_id, p.candidate_id, p.reference_id order by p.happened_at desc
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
    -- what could not be asked: no text of the paper, no text to grade, ...
    count(*) filter (outcome not in ('ok', 'cut', 'refused', 'empty', 'unparsable', 'rate_limited', 'failed')) as not_asked
from asked
group by all
order by all;
