-- adds what became of the words of each page of papers that were read
insert into text_words (paper_id, page, fate, words)
select paper_id, page, fate, words
from incoming;
