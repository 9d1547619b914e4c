-- one row per paper, page and fate of words there
select paper_id, page, fate, words
from text_words
order by paper_id, page, words desc, fate;
