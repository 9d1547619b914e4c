-- forgets how sure the ranks of some signatures are
delete from standings where signature_id in (select unnest($signature_ids::varchar[]));
