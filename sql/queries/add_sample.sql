-- adds the roles of the sampled papers' human reviews
insert into sample (paper_id, position, role, place, review_id)
select unnest($paper_id::varchar[]), unnest($position::integer[]), unnest($role::varchar[]),
       unnest($place::integer[]), unnest($review_id::varchar[]);
