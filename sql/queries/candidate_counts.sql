-- one row: how much of a candidate there is
select
    (select count(*) from reviews where candidate = $candidate) as reviews,
    (select count(*) from judgments join reviews using (review_id) where candidate = $candidate) as judgments,
    (select count(*) from scores where candidate_id = $candidate) as scores,
    (select max(kind) from candidates where candidate_id = $candidate) as kind;
