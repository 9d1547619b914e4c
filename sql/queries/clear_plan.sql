-- forgets what other runs planned under one signature, for the candidates named or (null) for all that a refresh plans
delete from plan
where signature_id = $signature_id
  and run_id <> $run_id
  and candidate_id in (
      select candidate_id
      from candidates
      where ($candidates is null and kind not in ('change', 'graded')) or candidate_id in (select unnest($candidates::varchar[]))
  );
