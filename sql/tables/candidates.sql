-- one row per candidate
create table if not exists candidates (
    candidate_id varchar primary key,
    kind         varchar not null check (kind in ('human', 'model', 'control', 'change', 'graded')),
    model        varchar,
    prompt       varchar,
    guideline    varchar,
    change       varchar
);
