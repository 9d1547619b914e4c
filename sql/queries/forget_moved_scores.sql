-- forgets scores by chance whose review of another paper is no longer the one named
delete from scores
where signature_id in (select signature_id from signatures where chance <> 'none')
  and (candidate_id, paper_id) in (
      select (m.candidate_id, m.paper_id)
      from moved m
      join (
          select unnest($candidate_id::varchar[]) as candidate_id, unnest($paper_id::varchar[]) as paper_id,
                 unnest($review_id::varchar[]) as review_id
      ) n using (candidate_id, paper_id)
      where m.review_id <> n.review_id
  );
