-- adds judgments
insert into judgments (review_id, writer, text, lines, strays)
select review_id, writer, text, lines, strays
from incoming;
