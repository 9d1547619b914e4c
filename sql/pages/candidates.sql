-- one row per candidate of the boards shown: who made it, how it was asked, and what is known of its model
select
    c.candidate_id as candidate,
    c.kind,
    c.model,
    c.prompt,
    c.guideline,
    c.change,
    m.family,
    m.parameters,
    m.knowledge_cutoff,
    m.released,
    m.price_in,
    m.price_out
from candidates c
left join models m using (model)
where c.candidate_id in (
    select p.candidate_id from pairs p join signatures_shown using (signature_id) where c.kind not in ('change', 'graded')
)
order by c.kind <> 'human', c.kind = 'control', c.candidate_id;
