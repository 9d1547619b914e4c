-- one row per board, signature and ranked candidate: how sure its rank is, as of the last refresh that ended
-- Tests are Student's: by paper of all pairs of ranked candidates of the signature, and of each of these against
-- chance. They are Holm-corrected together.
create table if not exists standings (
    board             varchar not null check (board in ('clean', 'all')),
    signature_id      varchar not null references signatures (signature_id),
    candidate_id      varchar not null,
    rank              integer not null,
    rank_low          integer,           -- what the tests allow: 95%, for all ranks at once
    rank_high         integer,
    likely_low        integer,           -- 95% of the bootstrap, for this rank alone
    likely_high       integer,
    next_candidate    varchar,           -- the next below
    next_difference   double,            -- how far below, paired by paper
    next_low          double,            -- 90%
    next_high         double,
    next_p            double,            -- Holm-corrected
    tied              boolean,           -- the difference to the next is not significant at 5%
    more_papers       integer,           -- papers more that would show it with probability 80%; null: none would, or it shows
    difference_p_holm double,            -- of the difference to the human baseline
    tests             integer not null,
    problem           varchar,           -- why there are no tests
    run_id            varchar not null,
    above_p_holm      double,            -- of what it scores above chance
    primary key (board, signature_id, candidate_id),
    check ((rank_low is null) = (problem is not null))
);
