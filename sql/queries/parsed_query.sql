-- one row: what the parser makes of a query, as JSON
select json_serialize_sql($text) as parsed;
