-- one row per candidate: its reviews with judgments by one writer, and how many lines of them are none
with texts as (
    select 'human' as candidate_id, s.review_id
    from sample s
    where s.role = 'candidate'
    union all
    select r.candidate, r.review_id
    from reviews r
    where r.candidate <> 'human' and r.paper_id in (select paper_id from sample)
)
select
    t.candidate_id,
    count(*) as judged,
    count(*) filter (j.lines = 0) as unparsable,
    sum(j.lines + j.strays)::integer as lines,
    sum(j.strays)::integer as strays
from texts t
join judgments j on j.review_id = t.review_id and j.writer = $writer
group by all
order by all;
