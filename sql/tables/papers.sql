-- one row per paper of the venue-year that is known
create table if not exists papers (
    paper_id  varchar primary key,
    title     varchar not null,
    abstract  varchar,
    text      varchar,
    source_row integer                   -- position in the source it came from, if it has one
);
