-- one row per transient problem met: the pair stays missing and the next run tries again
create table if not exists problems (
    run_id       varchar not null,
    signature_id varchar not null,
    paper_id     varchar not null,
    candidate_id varchar not null,
    reference_id varchar not null,
    problem      varchar not null,
    message      varchar not null,
    happened_at timestamptz not null
);
