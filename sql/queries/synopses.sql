-- one row per paper with a synopsis of this kind by this writer
select paper_id, text
from synopses
where kind = $kind and writer = $writer;
