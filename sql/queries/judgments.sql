-- one row per review and writer
select review_id, writer, text
from judgments
order by review_id, writer;
