-- from schema version 7: what kinds of papers there are; of notes that were imported before, the next import tells
create table paper_strata (
    paper_id varchar not null,
    stratum  varchar not null,
    value    varchar not null,
    primary key (paper_id, stratum)
);
