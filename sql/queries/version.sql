-- one row: the schema version of the store
select schema_version from meta;
