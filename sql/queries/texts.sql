-- one row per paper whose text was read from a snapshot
select paper_id, origin, sha256, status, pages, abstract, text, notes
from texts
order by paper_id;
