-- one row per finished pair: its score in nats, or the final problem in its place
create table if not exists scores (
    signature_id    varchar not null references signatures (signature_id),
    paper_id        varchar not null,
    candidate_id    varchar not null,
    reference_id    varchar not null,
    value           double check (isfinite(value)),
    problem         varchar,
    problem_message varchar,
    broken          boolean not null,    -- the evaluation LM itself misbehaved
    conditional     varchar,             -- prediction in spans
    marginal        varchar,             -- prediction in spans
    run_id          varchar not null,
    primary key (signature_id, paper_id, candidate_id, reference_id),
    check ((value is null) <> (problem is null)),
    check (value is null or (conditional is not null and marginal is not null))
);
