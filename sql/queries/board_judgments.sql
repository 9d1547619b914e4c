-- one row per candidate: its reviews judged by one writer, how many of them in vain, how many lines are no judgment, the
-- median of lines a review, and the share of a review's distinct words that its judgments keep
-- In vain: nothing in the text judges, or an LM's reply could not be read as judgments.
with texts as (
    select 'human' as candidate_id, s.review_id, r.text
    from sample s
    join reviews r using (review_id)
    where s.role = 'candidate'
    union all
    select r.candidate, r.review_id, r.text
    from reviews r
    where r.candidate <> 'human' and r.paper_id in (select paper_id from sample)
),
judged as (
    select review_id, lines, strays, text as judgments
    from judgments
    where writer = $writer
    union all
    select item, 0, 0, null
    from replies
    where task = 'judgments' and writer = $writer and outcome = 'unparsable'
)
select
    t.candidate_id,
    count(*) as judged,
    count(*) filter (j.lines = 0) as unparsable,
    sum(j.lines + j.strays)::integer as lines,
    sum(j.strays)::integer as strays,
    median(j.lines) filter (j.lines > 0) as median_lines,
    avg(words_kept(t.text, j.judgments)) filter (j.lines > 0) as covered
from texts t
join judged j using (review_id)
group by all
order by all;
