-- one row per signature shown and reference with a public text: that text, and the ids of its tokens
select distinct on (g.signature_id, s.reference_id)
    g.signature_id,
    s.reference_id,
    g.form,
    g.ascii_fold,
    j.text,
    p.ids
from signatures_shown w
join signatures g using (signature_id)
join scores s using (signature_id)
join judgments j on j.review_id = s.reference_id and j.writer = g.writer and j.text is not null
join spans p on p.lm_id = w.lm_id and p.prediction = s.predictions[1] and p.ids is not null
where g.metric like 'gem%' and s.value is not null
order by g.signature_id, s.reference_id, s.candidate_id;
