-- from schema version 3: an import states its domain; files of Yelp and graded reviews; graded candidates
create temp table earlier_imports as select * from imports;
drop table imports;
create table imports (
    run_id    varchar not null,
    file      varchar not null,
    sha256    varchar not null,
    kind      varchar not null check (kind in ('papers', 'reviews', 'notes', 'yelp', 'graded')),
    added     integer not null,
    unchanged integer not null,
    refused   integer not null,
    domain    varchar,
    happened_at timestamptz not null
);
insert into imports by name select * from earlier_imports;
drop table earlier_imports;

create temp table earlier_candidates as select * from candidates;
drop table candidates;
create table candidates (
    candidate_id varchar primary key,
    kind         varchar not null check (kind in ('human', 'model', 'control', 'change', 'graded')),
    model        varchar,
    prompt       varchar,
    guideline    varchar,
    change       varchar
);
insert into candidates by name select * from earlier_candidates;
drop table earlier_candidates;
