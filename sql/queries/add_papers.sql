-- adds or fills in papers
insert or replace into papers (paper_id, title, abstract, text, source_row)
select paper_id, title, abstract, text, source_row
from incoming;
