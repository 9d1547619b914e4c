-- forgets final problems of the pairs that one run plans, so that they are tried again
delete from scores
where problem is not null
  and (signature_id, paper_id, candidate_id, reference_id) in (
      select (signature_id, paper_id, candidate_id, reference_id) from plan where run_id = $run_id
  );
