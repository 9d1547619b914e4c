-- one row per writer of the boards shown and candidate: its judgments by their opening
select candidate, writer, reviews, openings, lines
from judgment_kinds
where writer in (select writer from signatures join signatures_shown using (signature_id))
order by candidate, writer;
