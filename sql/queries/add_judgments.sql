-- adds judgments
insert into judgments (review_id, writer, text, lines, strays)
select unnest($review_id::varchar[]), unnest($writer::varchar[]), unnest($text::varchar[]),
       unnest($lines::integer[]), unnest($strays::integer[]);
