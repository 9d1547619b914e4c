-- one row per sampled paper whose text was read from a snapshot; remarks may quote the paper
select
    t.paper_id,
    t.origin,
    t.sha256,
    t.status,
    t.pages,
    case when u.paper_id is not null then t.abstract end as abstract,
    case when u.paper_id is not null then t.text end as text,
    sha256(t.text) as text_sha256,
    case when u.paper_id is not null then t.notes end as notes
from edition.texts t
left join public_papers u using (paper_id)
order by t.paper_id;
