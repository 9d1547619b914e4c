-- one row per change of a review that a metric is validated with
create table changes (change varchar, title varchar, family varchar);
