-- one row per review, human or of a candidate
create table if not exists reviews (
    review_id varchar primary key,
    paper_id  varchar not null,
    candidate varchar not null,          -- 'human', or the candidate who wrote it
    text      varchar,
    slot      integer,                   -- its given place among the paper's human reviews
    rating    double,
    grade     double                     -- how good somebody found the review itself
);
