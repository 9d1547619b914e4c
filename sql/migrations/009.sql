-- from schema version 8: of how many papers it is known that an evaluation LM or a writer was learnt from them
alter table separation add column if not exists left_out integer default 0;
alter table draws add column if not exists avoid_learnt varchar[] default [];
alter table draws add column if not exists reference_count varchar default '2';
create table if not exists exposures (
    role varchar, name varchar, status varchar, family varchar, cutoff date, released date
);
create temp table earlier_exposures as select * from exposures;
drop table exposures;
create table exposures (
    role     varchar not null check (role in ('candidate', 'evaluation_lm', 'writer', 'synopsis_writer')),
    name     varchar not null,
    status   varchar not null check (status in ('clean', 'contaminated', 'unknown', 'none')),
    family   varchar,
    cutoff   date,                       -- last day of its training texts
    released date,                       -- day on which the edition's reviews were first shown
    learnt   integer,                    -- papers of the edition that it was learnt from here; null: it has no register
    papers   integer,                    -- papers that were compared with its register
    register varchar,                    -- digest of its register
    primary key (role, name),
    check (status not in ('clean', 'contaminated') or (cutoff is not null and released is not null)
           or learnt is not null)
);
insert into exposures by name select * from earlier_exposures;
drop table earlier_exposures;

-- imports state licences; nothing is known of texts imported before, so releases withhold them
create table if not exists licences (
    kind    varchar not null check (kind in ('paper', 'review')),
    item    varchar not null,
    licence varchar not null,
    primary key (kind, item)
);
