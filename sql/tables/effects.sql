-- one row per signature and change: its effect on the metric and what that says of the metric, or why there is none
create table if not exists effects (
    signature_id  varchar not null references signatures (signature_id),
    change        varchar not null,
    candidate_id  varchar not null,
    family        varchar not null check (family in ('degradation', 'manipulation')),
    made_by       varchar not null,      -- who made the change: a rule, a writer
    d             double check (isfinite(d)),
    low           double,                -- 95%, by paper
    high          double,
    p             double,                -- two-sided, by paper
    p_holm        double,                -- over the degradations of the signature
    flat_low      double,                -- the published interval, which takes pairs for independent
    flat_high     double,
    flat_p        double,
    length_d      double,                -- d of the scores with length held fixed
    length_low    double,
    length_high   double,
    mean_before   double,
    mean_after    double,
    pairs         integer not null,      -- scored both before and after
    planned       integer not null,
    papers        integer not null,
    method        varchar,
    verdict       varchar not null check (verdict in ('pass', 'fail', 'undecided')),
    paper_verdict varchar check (paper_verdict in ('pass', 'fail')),
    problem       varchar,
    run_id        varchar not null,
    primary key (signature_id, change),
    check ((d is null) = (problem is not null))
);
