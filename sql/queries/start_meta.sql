-- the one row that says what a new store is
insert into meta (schema_version, edition, created_at) values ($schema_version, $edition, $created_at);
