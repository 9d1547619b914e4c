-- one row per signature and candidate: how far its reviews score above its own reviews of other papers, as of the last
-- refresh that ended
-- Tests are Student's over the exchanges of reviews: two papers whose reviews change places are one unit.
create table if not exists chance (
    signature_id varchar not null references signatures (signature_id),
    candidate_id varchar not null,
    chance       double not null check (isfinite(chance)),  -- mean score of the reviews of other papers
    above        double not null check (isfinite(above)),   -- mean difference, on the pairs that have both scores
    above_low    double,                                    -- 90%; null: fewer than two exchanges
    above_high   double,
    above_p      double,                                    -- two-sided, not corrected
    papers       integer not null,
    swaps        integer not null,
    run_id       varchar not null,
    primary key (signature_id, candidate_id),
    check ((above_low is null) = (above_p is null))
);
