-- from schema version 6: candidates that are ranked among themselves, and notes for readers on a candidate
alter table candidates add column group_name varchar;
alter table candidates add column note varchar;
