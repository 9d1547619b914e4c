-- adds or fills in reviews
insert or replace into reviews (review_id, paper_id, candidate, text, slot, rating, grade)
select unnest($review_id::varchar[]), unnest($paper_id::varchar[]), unnest($candidate::varchar[]),
       unnest($text::varchar[]), unnest($slot::integer[]), unnest($rating::double[]),
       unnest($grade::double[]);
