-- forgets the separation of one signature
delete from separation where signature_id = $signature_id;
