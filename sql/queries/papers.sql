-- one row per known paper
select paper_id, title, abstract, text, source_row
from papers
order by paper_id;
