-- macro: the share of the distinct words of a review that its judgments keep; null if the review has no words
create or replace macro distinct_words(text) as
    list_distinct(regexp_extract_all(lower(text), '[a-z0-9][a-z0-9-]+'));

create or replace macro words_kept(review, judgments) as
    len(list_intersect(distinct_words(review), distinct_words(judgments)))
    / nullif(len(distinct_words(review)), 0);
