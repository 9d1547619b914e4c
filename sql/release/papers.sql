-- one row per known paper: its texts where the licence allows it, else their SHA-256 alone
select
    p.paper_id,
    case when u.paper_id is not null then p.title end as title,
    case when u.paper_id is not null then p.abstract end as abstract,
    case when u.paper_id is not null then p.text end as text,
    sha256(p.title) as title_sha256,
    sha256(p.abstract) as abstract_sha256,
    sha256(p.text) as text_sha256,
    p.source_row
from edition.papers p
left join public_papers u using (paper_id)
order by p.paper_id;
