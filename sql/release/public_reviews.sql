-- one row per review whose text may be passed on: a model's own; else by the licence of the note, or of the paper that
-- a control copies; changed and graded reviews state none
select r.review_id
from edition.reviews r
left join edition.candidates c on c.candidate_id = r.candidate
left join edition.review_versions v using (review_id)
left join edition.paper_sources p on p.paper_id = r.paper_id
where c.kind = 'model' or exists (
    select 1
    from free_licences f
    where f.licence is not distinct from
        case when r.candidate = 'human' then v.licence when c.kind = 'control' then p.licence end
);
