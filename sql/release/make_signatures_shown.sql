-- one row per signature whose board the page shows; lm_id: of its spans
create table signatures_shown (signature_id varchar, place integer, lm_id varchar);
