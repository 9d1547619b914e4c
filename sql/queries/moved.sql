-- one row per paper: the review of another paper that one candidate is scored with there
select paper_id, review_id, swap
from moved
where writer = $writer and candidate_id = $candidate_id
order by paper_id;
