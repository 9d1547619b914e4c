-- the store is now of this schema version
update meta set schema_version = $schema_version;
