-- forgets what other runs planned under one signature, for the candidates named or (null) for all
delete from plan
where signature_id = $signature_id
  and run_id <> $run_id
  and ($candidates is null or candidate_id in (select unnest($candidates::varchar[])));
