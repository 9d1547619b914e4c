-- adds or fills in papers
insert or replace into papers (paper_id, title, abstract, text, source_row)
select unnest($paper_id::varchar[]), unnest($title::varchar[]), unnest($abstract::varchar[]),
       unnest($text::varchar[]), unnest($source_row::integer[]);
