-- one row per table of the edition that is being published
select table_name from duckdb_tables() where database_name = 'edition';
