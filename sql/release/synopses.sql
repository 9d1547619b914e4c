-- one row per paper, kind and writer: as public as the paper
select
    s.paper_id,
    s.kind,
    s.writer,
    case when u.paper_id is not null then s.text end as text,
    sha256(s.text) as text_sha256
from edition.synopses s
left join public_papers u using (paper_id)
order by all;
