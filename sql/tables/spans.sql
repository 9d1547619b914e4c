-- one row per evaluation LM and prediction: the reply's log-probability, token by token (nats)
create table if not exists spans (
    lm_id      varchar not null,         -- digest of the evaluation LM's identity
    prediction varchar not null,         -- content address of (prompt, synopsis, x, reply)
    total      double not null check (isfinite(total) and total <= 1e-6),
    ids        integer[] not null,
    logprobs   float[] not null,
    escaped    integer not null,         -- control tokens escaped in its texts
    primary key (lm_id, prediction),
    check (len(ids) = len(logprobs))
);
