-- one row: how the sample was drawn
create table if not exists draws (
    papers          integer not null,
    seed            integer not null,
    min_reviews     integer not null,
    roles           varchar not null,
    candidate_slot  integer not null,
    reference_slots integer[] not null,
    known           integer not null,    -- papers known when it was drawn
    eligible        integer not null,
    drawn_at        timestamptz not null
);
