-- adds texts read from a snapshot
insert or replace into texts (paper_id, origin, sha256, status, pages, abstract, text, notes)
select unnest($paper_id::varchar[]), unnest($origin::varchar[]), unnest($sha256::varchar[]), unnest($status::varchar[]),
       unnest($pages::integer[]), unnest($abstract::varchar[]), unnest($text::varchar[]), unnest($notes::varchar[][]);
