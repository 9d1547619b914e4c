-- one row per paper of a fetched snapshot: its PDF, which version that is, and the paper's licence
create table if not exists paper_sources (
    paper_id           varchar primary key,
    pdf_sha256         varchar,
    pdf_problem        varchar,          -- why there is no PDF, where one was asked for
    pdf_version_status varchar not null
        check (pdf_version_status in ('submitted', 'revised_after_review', 'camera_ready', 'unknown')),
    licence            varchar           -- as the note states it
);
