-- says which review of another paper a candidate is scored with by chance
insert or replace into moved (writer, candidate_id, paper_id, review_id, swap)
select unnest($writer::varchar[]), unnest($candidate_id::varchar[]), unnest($paper_id::varchar[]),
       unnest($review_id::varchar[]), unnest($swap::varchar[]);
