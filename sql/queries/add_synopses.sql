-- adds synopses
insert or replace into synopses (paper_id, kind, writer, text)
select unnest($paper_id::varchar[]), unnest($kind::varchar[]), unnest($writer::varchar[]), unnest($text::varchar[]);
