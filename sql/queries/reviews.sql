-- one row per known review
select review_id, paper_id, candidate, text, slot, rating, grade
from reviews
order by review_id;
