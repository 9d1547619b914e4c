-- one row per paper of the drawn sample and human role: the candidate (0) and the references (1, 2, ...)
create table if not exists sample (
    paper_id  varchar not null,
    position  integer not null,          -- place of the paper in the edition, from 0
    role      varchar not null check (role in ('candidate', 'reference')),
    place     integer not null,
    review_id varchar not null,
    primary key (paper_id, place)
);
