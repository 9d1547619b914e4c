-- one row per writer of judgments, candidate and paper: its review of another paper, which is scored there by chance
create table if not exists moved (
    writer       varchar not null,       -- as in signatures: reviews that it has not judged are not moved
    candidate_id varchar not null,
    paper_id     varchar not null,
    review_id    varchar not null,
    swap         varchar not null,       -- reviews that change places share it: they are one independent unit
    primary key (writer, candidate_id, paper_id)
);
