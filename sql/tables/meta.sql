-- one row: what this file is
create table if not exists meta (
    schema_version integer not null,
    edition        varchar not null,
    created_at     timestamptz not null
);
