-- sets how long the texts of the candidates of one signature are
insert or replace into lengths (signature_id, candidate_id, shortest, longest, run_id)
select unnest($signature_id::varchar[]), unnest($candidate_id::varchar[]), unnest($shortest::integer[]),
       unnest($longest::integer[]), unnest($run_id::varchar[]);
