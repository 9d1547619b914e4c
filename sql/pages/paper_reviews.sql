-- one row per review of a paper and writer of the boards shown, where its words or its judgments may be read here
select r.paper_id, r.review_id, r.candidate, c.kind, s.role, r.text as review, j.writer, j.text as judgments
from reviews r
join candidates c on c.candidate_id = r.candidate
left join sample s using (paper_id, review_id)
left join judgments j on j.review_id = r.review_id and j.text is not null
    and j.writer in (select writer from signatures join signatures_shown using (signature_id))
where coalesce(r.text, j.text) is not null and c.kind not in ('change', 'graded')
    and (r.candidate <> 'human' or s.role is not null)
order by r.paper_id, c.kind <> 'human', c.kind = 'control', s.role is distinct from 'candidate', r.candidate, r.review_id,
    j.writer;
