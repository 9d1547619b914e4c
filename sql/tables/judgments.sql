-- one row per review and writer: the review as judgments, exactly as the writer left them
create table if not exists judgments (
    review_id varchar not null,
    writer    varchar not null,
    text      varchar not null,
    lines     integer not null,          -- lines that start with one of the four openings
    strays    integer not null,          -- other lines that are not blank
    primary key (review_id, writer)
);
