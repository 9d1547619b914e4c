-- from schema version 4: signatures state how reviews of other papers are chosen; how far candidates score above chance,
-- and how their judgments compare with the humans'
alter table signatures add column chance varchar default 'none';
alter table if exists standings add column above_p_holm double;
alter table if exists profiles add column median_lines double;
alter table if exists profiles add column human_lines double;
alter table if exists profiles add column covered double;
