-- one row per snapshot of notes and PDFs that was imported
create table if not exists snapshots (
    digest      varchar primary key,
    path        varchar not null,         -- its folder under snapshots/ of the state
    imported_at timestamptz not null
);
