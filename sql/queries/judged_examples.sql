-- one row per candidate and writer: the first judgment of its review that has most of them, in the sample
with texts as (
    select 'human' as candidate_id, s.review_id
    from sample s
    where s.role = 'candidate'
    union all
    select r.candidate, r.review_id
    from reviews r
    join candidates c on c.candidate_id = r.candidate and c.kind = 'model'
    where r.paper_id in (select paper_id from sample)
)
select
    t.candidate_id,
    j.writer,
    split_part(trim(arg_max(j.text, (j.lines, t.review_id)), chr(10) || chr(13) || ' '), chr(10), 1) as example
from texts t
join judgments j using (review_id)
where j.writer in (select unnest($writers::varchar[])) and j.lines > 0
group by all
order by all;
