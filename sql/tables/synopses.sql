-- one row per paper, kind and writer: what is known of the paper before the first review
create table if not exists synopses (
    paper_id varchar not null,
    kind     varchar not null check (kind in ('assw', 'categories')),
    writer   varchar not null,
    text     varchar not null,
    primary key (paper_id, kind, writer)
);
