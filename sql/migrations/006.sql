-- from schema version 5: what became of the words of each page; nothing is known of papers read before
create table text_words (
    paper_id varchar not null,
    page     integer not null check (page >= 0),
    fate     varchar not null,
    words    integer not null check (words > 0),
    primary key (paper_id, page, fate)
);
