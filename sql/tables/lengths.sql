-- one row per signature and candidate: words of its shortest and longest text that the metric reads
create table if not exists lengths (
    signature_id varchar not null,
    candidate_id varchar not null,
    shortest     integer not null check (shortest > 0),
    longest      integer not null check (longest >= shortest),
    run_id       varchar not null,
    primary key (signature_id, candidate_id)
);
