-- one row: a paper, where its text came from, and the snapshot
select
    p.paper_id,
    p.title,
    sha256(p.abstract) as abstract_sha256,
    coalesce(s.pdf_sha256, case when t.origin = 'pdf' then t.sha256 end) as pdf_sha256,
    s.pdf_version_status,
    t.status as text_status,
    sha256(coalesce(t.text, p.text)) as text_sha256,
    (select arg_max(digest, imported_at) from snapshots) as snapshot
from papers p
left join paper_sources s using (paper_id)
left join texts t using (paper_id)
where p.paper_id = $paper_id;
