-- one row per table of the release itself
select table_name
from duckdb_tables()
where database_name = current_database() and not temporary
order by table_name;
