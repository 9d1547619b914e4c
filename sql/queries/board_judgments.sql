-- one row per candidate: its reviews judged by one writer, how many of them in vain, and how many lines are no judgment
-- In vain: nothing in the text judges, or an LM's reply could not be read as judgments.
with texts as (
    select 'human' as candidate_id, s.review_id
    from sample s
    where s.role = 'candidate'
    union all
    select r.candidate, r.review_id
    from reviews r
    where r.candidate <> 'human' and r.paper_id in (select paper_id from sample)
),
judged as (
    select review_id, lines, strays
    from judgments
    where writer = $writer
    union all
    select item, 0, 0
    from replies
    where task = 'judgments' and writer = $writer and outcome = 'unparsable'
)
select
    t.candidate_id,
    count(*) as judged,
    count(*) filter (j.lines = 0) as unparsable,
    sum(j.lines + j.strays)::integer as lines,
    sum(j.strays)::integer as strays
from texts t
join judged j using (review_id)
group by all
order by all;
