-- one row per planned pair: due to be scored, waiting for a text that is still to be written, or why it cannot be
create table if not exists plan (
    signature_id varchar not null,
    paper_id     varchar not null,
    candidate_id varchar not null,
    reference_id varchar not null,
    state        varchar not null check (state in ('due', 'waiting', 'excluded', 'failed')),
    reason       varchar,
    detail       varchar,
    run_id       varchar not null,
    primary key (signature_id, paper_id, candidate_id, reference_id),
    check ((state = 'due') = (reason is null))
);
