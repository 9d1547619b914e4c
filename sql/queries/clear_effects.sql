-- forgets the effects of one signature
delete from effects
where signature_id = $signature_id;
