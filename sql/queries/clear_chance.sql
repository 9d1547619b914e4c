-- forgets how far candidates score above chance under some signatures
delete from chance where signature_id in (select unnest($signature_ids::varchar[]));
