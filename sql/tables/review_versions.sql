-- one row per human review of a fetched snapshot: which of its versions the text is, and why that one counts
create table if not exists review_versions (
    review_id  varchar primary key,
    versions   integer not null,         -- how many are known
    version_id varchar,                  -- null: the note as it was when it was fetched
    written_at timestamptz,
    rule       varchar not null,
    licence    varchar                   -- as the note states it
);
