-- one row per sampled paper and human role, in the edition's order
select paper_id, position, role, place, review_id
from sample
order by position, place;
