-- adds or fills in reviews
insert or replace into reviews (review_id, paper_id, candidate, text, slot, rating, grade)
select review_id, paper_id, candidate, text, slot, rating, grade
from incoming;
