-- one row per imported file and import: what was taken from it
create table if not exists imports (
    run_id    varchar not null,
    file      varchar not null,
    sha256    varchar not null,
    kind      varchar not null check (kind in ('papers', 'reviews', 'notes', 'yelp', 'graded')),
    added     integer not null,
    unchanged integer not null,
    refused   integer not null,
    domain    varchar,                   -- what is reviewed, if the file tells
    happened_at timestamptz not null
);
