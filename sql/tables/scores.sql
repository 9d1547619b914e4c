-- one row per finished pair: its score in the metric's unit, or the final problem in its place
create table if not exists scores (
    signature_id    varchar not null references signatures (signature_id),
    paper_id        varchar not null,
    candidate_id    varchar not null,
    reference_id    varchar not null,
    value           double check (isfinite(value)),
    problem         varchar,
    problem_message varchar,
    broken          boolean not null,    -- the evaluation LM itself misbehaved
    predictions     varchar[] not null,  -- those in spans that it is made of: of GEM the conditional, the marginal
    run_id          varchar not null,
    primary key (signature_id, paper_id, candidate_id, reference_id),
    check ((value is null) <> (problem is null))
);
