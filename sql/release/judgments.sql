-- one row per review and writer: as public as the review that they are made of
select
    j.review_id,
    j.writer,
    case when u.review_id is not null then j.text end as text,
    sha256(j.text) as text_sha256,
    j.lines,
    j.strays
from edition.judgments j
left join public_reviews u using (review_id)
order by j.review_id, j.writer;
