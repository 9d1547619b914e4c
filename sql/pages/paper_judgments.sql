-- one row per public review of a paper by somebody on a board, with its judgments by the boards' writers
select r.paper_id, r.review_id, r.candidate, c.kind, j.writer, j.text
from reviews r
join judgments j using (review_id)
join candidates c on c.candidate_id = r.candidate
left join sample s using (paper_id, review_id)
where j.text is not null and c.kind not in ('change', 'graded')
    and j.writer in (select writer from signatures join signatures_shown using (signature_id))
    and (r.candidate <> 'human' or s.role = 'candidate')
order by r.paper_id, c.kind <> 'human', c.kind = 'control', r.candidate, j.writer;
