-- one row per candidate and paper whose review and human baseline's may both be read here: the shortest pair
with words as (
    select r.candidate, r.paper_id, r.review_id, r.text, j.writer, j.text as judgments
    from reviews r
    left join sample s on s.review_id = r.review_id and s.role = 'candidate'
    left join judgments j on j.review_id = r.review_id and j.text is not null
        and j.writer in (select writer from signatures join signatures_shown using (signature_id))
    where coalesce(r.text, j.text) is not null and (r.candidate <> 'human' or s.role = 'candidate')
),
candidates_of as (select candidate_id from candidates where kind not in ('human', 'change', 'graded'))
select
    a.candidate,
    a.paper_id,
    p.title,
    a.text as review,
    a.judgments,
    h.text as human_review,
    h.judgments as human_judgments
from words a
join words h on h.candidate = 'human' and h.paper_id = a.paper_id and h.writer is not distinct from a.writer
left join papers p on p.paper_id = a.paper_id
where a.candidate in (from candidates_of)
qualify row_number() over (
    partition by a.candidate
    order by coalesce(len(a.text), 0) + coalesce(len(a.judgments), 0) + coalesce(len(h.text), 0), a.paper_id, a.writer
) = 1
order by a.candidate;
