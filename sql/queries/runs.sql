-- name: version
-- one row: the schema version of the store
select schema_version from meta;

-- name: definitions
-- at most one row: the digest of the definitions of the store's tables and views
select comment as digest from duckdb_tables() where table_name = 'meta' and database_name = current_database();

-- name: locked
-- one row: whether the settings of the database are locked
select current_setting('lock_configuration')::boolean as locked;

-- name: own_views
-- one row per view of the store
select view_name from duckdb_views() where not internal and database_name = current_database();

-- name: set_version
-- sets the schema version of a store that was brought up to date
update meta set schema_version = $version where schema_version <> $version;

-- name: forget_untested
-- deletes rank statistics whose tests are not stored, as in stores by earlier versions; the next refresh computes both
delete from rank_statistics where tests > 0 and signature_id not in (select signature_id from pair_tests);

-- name: start_meta
-- adds the one row that describes a new store
insert into meta (schema_version, edition, created_at) values ($schema_version, $edition, $created_at);

-- name: add_student_t
-- adds rows of student_t
insert into student_t
select unnest($df::integer[]), unnest($q90::double[]), unnest($q95::double[]);

-- name: start_run
-- adds one run; it starts after all earlier ones, even if the clock was set back, so that the last run is always known
insert into runs (run_id, command, started_at, settings, code_version)
values (
    $run_id, $command,
    greatest($started_at, (select coalesce(max(started_at) + interval 1 microsecond, $started_at) from runs)),
    $settings, $code_version
);

-- name: end_run
-- ends one run; if the clock was set back meanwhile, the run took no time
update runs set ended_at = greatest($ended_at, started_at), outcome = $outcome where run_id = $run_id;

-- name: last_settings
-- at most one row: the settings of the last refresh that was not refused or, without one, of the command new that made
-- the edition
select settings
from runs
where command in ('refresh', 'new') and outcome is distinct from 'refused'
order by started_at desc
limit 1;

-- name: runs_of_rows
-- one row per run that planned or scored pairs, or requested texts, that still exist
select run_id, command, started_at, ended_at, outcome, code_version
from runs
where run_id in (select run_id from plan union select run_id from scores union select run_id from replies)
order by started_at;

-- name: parsed_query
-- one row: a query's syntax tree, as JSON
select json_serialize_sql($text) as parsed;
