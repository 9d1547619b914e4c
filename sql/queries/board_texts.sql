-- one row per candidate, task and writer that was asked: what became of its reviews and of their judgments
with texts as (
    select 'human' as candidate_id, s.review_id
    from sample s
    where s.role = 'candidate'
    union all
    select r.candidate, r.review_id
    from reviews r
    where r.candidate <> 'human' and r.paper_id in (select paper_id from sample)
),
asked as (
    select regexp_extract(p.item, '[^:]*$') as candidate_id, p.task, p.writer, p.outcome, p.prompt_tokens, p.reply_tokens
    from replies p
    where p.task = 'review'
    union all
    select t.candidate_id, p.task, p.writer, p.outcome, p.prompt_tokens, p.reply_tokens
    from replies p
    join texts t on t.review_id = p.item
    where p.task = 'judgments' and p.writer = $writer
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
