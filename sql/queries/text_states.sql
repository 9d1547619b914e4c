-- one row per paper whose text was read from a snapshot: what became of the reading, papers without text first
select
    paper_id,
    origin,
    status,
    pages,
    coalesce(length(text), 0) as characters,
    notes
from texts
order by text is not null, status, paper_id;
