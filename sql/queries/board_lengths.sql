-- one row per candidate of the boards and paper: words of the text that a metric reads (source: judgments or review)
with texts as (
    select 'human' as candidate_id, s.paper_id, s.review_id
    from sample s
    where s.role = 'candidate'
    union all
    select r.candidate, r.paper_id, r.review_id
    from reviews r
    join candidates c on c.candidate_id = r.candidate and c.kind = 'model'
    where r.paper_id in (select paper_id from sample)
),
read_by_metric as (
    select
        t.candidate_id,
        t.paper_id,
        case
            when $source = 'review' then left(r.text, $cut)
            when $form = 'as_written' then j.text
            else array_to_string(
                list_filter(
                    string_split_regex(j.text, '\r?\n'),
                    lambda line: regexp_matches(line, '^\s*The reviewer (appreciates|criticizes|questions|suggests)')
                ), chr(10))
        end as text
    from texts t
    join reviews r using (review_id)
    left join judgments j on j.review_id = t.review_id and j.writer = $writer
)
select candidate_id, paper_id, len(string_split_regex(trim(text, ' ' || chr(9) || chr(10) || chr(13)), '\s+')) as words
from read_by_metric
where text is not null and regexp_matches(text, '\S')
order by candidate_id, paper_id;
