-- one row per paper, page of its PDF and fate of words there: how many were kept, were hidden, or went by which rule
create table if not exists text_words (
    paper_id varchar not null,
    page     integer not null check (page >= 0),      -- from 1; 0 for a given text, which has no pages
    fate     varchar not null,                        -- kept, hidden, or the rule that dropped them
    words    integer not null check (words > 0),
    primary key (paper_id, page, fate)
);
