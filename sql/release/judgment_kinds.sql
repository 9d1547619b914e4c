-- one row per candidate and writer: how many lines of its judgments open in each of the ways that *openings* lists
-- Of the human reviews only the baseline's count. Numbers about texts are public where the texts are not.
create table judgment_kinds as
with lines as (
    select
        r.candidate,
        j.writer,
        r.review_id,
        regexp_replace(trim(unnest(string_split(j.text, chr(10)))), '^([-*•]\s*|\d+[.)]\s*)', '') as line
    from edition.judgments j
    join edition.reviews r using (review_id)
    join edition.candidates c on c.candidate_id = r.candidate
    left join edition.sample s on s.review_id = r.review_id and s.role = 'candidate'
    where c.kind not in ('change', 'graded') and (r.candidate <> 'human' or s.role is not null)
)
select
    candidate,
    writer,
    count(distinct review_id) as reviews,
    $openings::varchar[] as openings,
    list_transform($openings::varchar[], lambda opening: len(list_filter(
        list(line), lambda line: starts_with(line, opening)))) as lines
from lines
group by candidate, writer
order by candidate, writer;
