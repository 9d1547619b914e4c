-- forgets what was known of the validation of signatures
delete from validations
where signature_id in (select unnest($signature_ids::varchar[]));
