-- forgets scores by chance whose review of another paper is no longer the one named
delete from scores
where (signature_id, candidate_id, paper_id) in (
    select (s.signature_id, m.candidate_id, m.paper_id)
    from moved m
    join signatures s on s.chance <> 'none' and s.writer = m.writer
    join (
        select unnest($writer::varchar[]) as writer, unnest($candidate_id::varchar[]) as candidate_id,
               unnest($paper_id::varchar[]) as paper_id, unnest($review_id::varchar[]) as review_id
    ) n on n.writer = m.writer and n.candidate_id = m.candidate_id and n.paper_id = m.paper_id
    where m.review_id <> n.review_id
);
