-- one row per role and name: whether what it learnt from may hold the edition's reviews
create table if not exists exposures (
    role     varchar not null check (role in ('candidate', 'evaluation_lm', 'writer', 'synopsis_writer')),
    name     varchar not null,
    status   varchar not null check (status in ('clean', 'contaminated', 'unknown', 'none')),
    family   varchar,
    cutoff   date,                       -- last day its texts can be from
    released date,                       -- day on which the edition's reviews were first shown
    primary key (role, name),
    check (status not in ('clean', 'contaminated') or (cutoff is not null and released is not null))
);
