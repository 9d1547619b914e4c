-- one row per known review: its text where the licence allows it, else its SHA-256 alone
select r.* replace (case when u.review_id is not null then r.text end as text), sha256(r.text) as text_sha256
from edition.reviews r
left join public_reviews u using (review_id)
order by r.review_id;
