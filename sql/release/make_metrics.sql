-- one row per metric: what the page calls it
create table metrics (metric varchar, title varchar, unit varchar, place integer);
