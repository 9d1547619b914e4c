-- one row per run: when, with which settings, how it ended
create table if not exists runs (
    run_id       varchar primary key,
    command      varchar not null,
    started_at   timestamptz not null,
    ended_at     timestamptz,
    outcome      varchar,                -- done | incomplete | fault | refused | paused | stopped; null while it runs or was killed
    settings     json not null,
    code_version varchar not null
);
