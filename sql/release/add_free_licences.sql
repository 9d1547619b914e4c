-- one row per licence under which a text is published; null: also what states none
create temp table free_licences as select unnest($licences::varchar[]) as licence;
