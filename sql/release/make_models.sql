-- one row per model of a candidate: what is known of it; null is unknown
create table models (
    model varchar, family varchar, parameters double, knowledge_cutoff date, released date, price_in double, price_out double
);
