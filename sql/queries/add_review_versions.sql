-- adds which version of each review counts; what is known already is told anew
insert or replace into review_versions (review_id, versions, version_id, written_at, rule, licence)
select unnest($review_id::varchar[]), unnest($versions::integer[]), unnest($version_id::varchar[]),
       unnest($written_at::timestamptz[]), unnest($rule::varchar[]), unnest($licence::varchar[]);
