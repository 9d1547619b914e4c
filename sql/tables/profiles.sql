-- one row per signature and candidate: how long its reviews are, its score at the human length, what they cost
create table if not exists profiles (
    signature_id   varchar not null references signatures (signature_id),
    candidate_id   varchar not null,
    words          double,               -- mean, of the text that the metric reads
    human_words    double,               -- the length that the score is taken at (geometric mean)
    at_length      double check (isfinite(at_length)),
    at_length_low  double,               -- 90%, by paper
    at_length_high double,
    asked          integer not null,     -- texts that were asked for: its reviews, and their judgments
    unusable       integer not null,     -- of these, how many gave none: refused, empty, cut, without a judgment
    judged         integer not null,     -- reviews with judgments by the signature's writer
    unparsable     integer not null,     -- of these, how many judge nothing in them
    lines          integer not null,     -- lines of these judgments
    strays         integer not null,     -- of these, how many open with none of the four openings
    prompt_tokens  bigint,               -- null: an endpoint did not state them
    reply_tokens   bigint,
    usd            double,               -- at the listed prices; null: a price or a count is unknown
    conflict       varchar,              -- of whose family the candidate is, that scores or judges it
    run_id         varchar not null,
    median_lines   double,               -- of its judgments, a review; of those that have any
    human_lines    double,               -- the same of the human baseline
    covered        double,               -- share of the distinct words of a review that its judgments keep, on average
    primary key (signature_id, candidate_id)
);
