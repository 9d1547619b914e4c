-- forgets final problems of the pairs named, so that they are tried again
delete from scores
where problem is not null
  and (signature_id, paper_id, candidate_id, reference_id) in (
      select (unnest($signature_id::varchar[]), unnest($paper_id::varchar[]), unnest($candidate_id::varchar[]),
              unnest($reference_id::varchar[]))
  );
