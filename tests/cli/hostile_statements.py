"""Statements that try to write, to read what is not theirs, to take the machine, or to hide what they do.

``{state}``: the edition's folder; ``{out}``: a folder that may be written; ``{secret}``: a file that nobody may read.
"""

from __future__ import annotations

COPIES = """
copy (select 'pwn' as a) to '{state}/read.duckdb' (format csv, use_tmp_file false)
copy (select 'pwn' as a) to '{state}/read.duckdb.wal' (format csv, use_tmp_file false)
copy (select '\\x57\\x41\\x4C'::blob as a) to '{state}/read.duckdb.wal' (format blob, use_tmp_file false)
copy (select 'pwn' as a) to '{state}/read.duckdb.wal.recovery' (format csv, use_tmp_file false)
copy (select 'pwn' as a) to '{state}/read.sha256' (format csv, header false, use_tmp_file false)
copy (select 'pwn' as a) to '{state}/status.json' (format json)
copy (select 'pwn' as a) to '{state}/edition.duckdb' (format parquet)
copy scores to '{out}/scores.csv'
copy scores to '{out}/scores.parquet' (format parquet)
copy scores to '{out}/parts' (format parquet, partition_by (candidate_id), overwrite_or_ignore true)
copy (from scores) to '/dev/stdout'
copy (from scores) to '/dev/stdin' (format csv)
copy (select 1) to '/proc/self/fd/1'
copy scores from '{secret}'
copy scores from '{secret}' (format csv, auto_detect true)
copy (pivot candidates on kind) to '{out}/pivot.csv'
copy (with x as (select 1) from x) to '{out}/with.csv'
copy (select 1) to 's3://bucket/x.csv'
copy (select 1) to 'http://127.0.0.1:9/x.csv'
copy from database read to memory
COPY (SELECT 1) TO '{out}/upper.csv'
CoPy/**/(select 1)/**/to/**/'{out}/comment.csv'
/* harmless */ copy (select 1) to '{out}/after.csv'
explain analyze copy (select 1) to '{out}/explained.csv'
explain analyse copy (select 1) to '{out}/explained.csv'
explain (analyze) copy (select 1) to '{out}/explained.csv'
explain (analyze true, format json) copy (select 1) to '{out}/explained.csv'
explain /* x */ analyze copy (select 1) to '{out}/explained.csv'
explain copy (select 1) to '{out}/explained.csv'
prepare p as copy (select 1) to '{out}/prepared.csv'
export database '{out}/exported'
export database '{out}/exported' (format parquet)
import database '{out}'
"""
CHANGES = """
delete from scores
truncate scores
insert into scores select * from scores
insert or replace into scores select * from scores
update scores set value = value + 1000
update scores set value = 1 returning *
merge into scores using scores s on true when matched then delete
drop table scores
drop view leaderboard
drop schema main cascade
alter table scores add column x integer
alter table scores rename to points
create table mine (x integer)
create table mine as select 1
create temp table mine as select 1
create or replace temp view leaderboard as select 1
create view mine as select 1
create or replace macro round(a, b) as 1000
create temp macro f() as 1
create macro f() as table select * from read_text('{secret}')
create type mood as enum ('a')
create sequence mine
create schema mine
create index mine on scores (value)
create function f() as 1
create trigger t after insert on scores for each row insert into scores select 1
comment on table scores is 'pwn'
vacuum
vacuum analyze
analyze
checkpoint
force checkpoint
checkpoint read
call force_checkpoint('read')
begin
begin transaction
commit
rollback
with x as (insert into scores select * from scores returning *) from x
with x as (delete from scores returning *) select count(*) from x
with x as (update scores set value = 0 returning *) select * from x
with x as materialized (delete from scores returning 1) select 1
with x as (pivot candidates on kind) insert into candidates from x
with recursive x as (delete from scores returning 1 as i) from x
select * from (delete from scores returning *)
insert into candidates (pivot candidates on kind)
create table z as pivot candidates on kind
explain analyze delete from scores
explain analyze insert into scores from scores
"""
REACHES = """
attach '{out}/mine.duckdb'
attach '{state}/edition.duckdb' as store
attach '{state}/read.duckdb' as other (read_only)
attach ':memory:' as m
attach if not exists 'http://127.0.0.1:9/x.duckdb' as h
attach '{secret}' as s (type sqlite)
detach read
use memory
from read_csv('{secret}')
from read_csv_auto('/etc/passwd')
from read_text('{secret}')
from read_text('/proc/self/environ')
from read_text('/proc/self/cmdline')
from read_text('/proc/1/environ')
from read_blob('{secret}')
from read_blob('{state}/edition.duckdb')
from read_blob('{state}/read.duckdb')
from read_blob('read.duckdb')
from read_blob('./read.duckdb')
from read_blob('errors')
from read_blob('*')
from read_text(['{secret}', '/etc/hostname'])
from read_json('{secret}')
from read_json_auto('{state}/status.json')
from read_json_objects('{state}/status.json')
from read_ndjson('{state}/edition.lock')
from read_parquet('{secret}')
from parquet_metadata('{secret}')
from parquet_schema('{out}/*.parquet')
from parquet_kv_metadata('{secret}')
from read_duckdb('{state}/edition.duckdb')
from read_single_csv_file('{secret}')
from sniff_csv('{secret}')
from sniff_csv('/etc/passwd')
from glob('/etc/*')
from glob('{state}/*')
from glob('**')
from '{secret}'
from '{state}/edition.duckdb'
from "{secret}"
select * from '/etc/passwd'
describe '{secret}'
describe from read_text('{secret}')
summarize '{secret}'
summarize from read_csv('{secret}')
show tables from '{secret}'
table "{secret}"
from 'http://127.0.0.1:9/x.csv'
from 'https://127.0.0.1:9/x.parquet'
from 's3://bucket/key.parquet'
from 'gs://bucket/key'
from 'hf://datasets/a/b.csv'
from read_csv('http://127.0.0.1:9/x?leak=1')
from read_text('file://{secret}')
select * from sqlite_scan('{secret}', 'x')
select * from postgres_scan('host=127.0.0.1', 'public', 'x')
select * from delta_scan('{out}')
select * from iceberg_scan('{out}')
select * from st_read('{secret}')
from arrow_scan(1, 2, 3)
from pandas_scan(1)
from python_map_function(1)
from python_arrow_scan(1)
from seq_scan('scores')
pivot (from read_text('{secret}')) on filename
pivot (from read_csv('{secret}')) on column0
unpivot (from read_text('{secret}')) on content
select (select content from read_text('{secret}'))
select exists (from read_text('{secret}'))
with x as (from read_text('{secret}')) from x
from scores where candidate_id in (select content from read_text('{secret}'))
from scores, lateral (from read_text('{secret}'))
from query('from read_text(''{secret}'')')
from query('copy (select 1) to ''{out}/q.csv''')
from query('delete from scores')
from query('select 1; drop table scores')
from query_table('{secret}')
from query_table(['scores', '{secret}'])
from json_execute_serialized_sql(json_serialize_sql('from read_text(''{secret}'')'))
select json_execute_serialized_sql('x')
"""
SETTINGS = """
set enable_external_access = true
set global enable_external_access = true
reset enable_external_access
set lock_configuration = false
reset lock_configuration
set allowed_directories = ['/']
set allowed_paths = ['{secret}']
set temp_directory = '{out}'
set home_directory = '{out}'
set secret_directory = '{out}'
set extension_directory = '{out}'
set log_query_path = '{out}/log'
set memory_limit = '500GB'
set threads = 10000
set max_temp_directory_size = '500GB'
set file_search_path = '/etc'
set search_path = 'main'
set custom_extension_repository = 'http://127.0.0.1:9'
set allow_unsigned_extensions = true
set autoinstall_known_extensions = true
set python_enable_replacements = true
set profiling_output = '{out}/profile.json'
set enable_profiling = 'json'
set variable x = 1
pragma enable_profiling = 'json'
pragma profiling_output = '{out}/profile.json'
pragma enable_logging
pragma database_list
pragma import_database('{out}')
pragma copy_database('read', 'memory')
pragma add_parquet_key('k', '0123456789112345')
call enable_logging(storage = 'file', storage_path = '{out}/log')
call enable_profiling(save_location = '{out}/profile.json')
call pragma_version()
call duckdb_logs()
from enable_logging(storage = 'file', storage_path = '{out}/log')
from enable_logging(level = 'debug', storage = 'stdout')
from enable_profiling(save_location = '{out}/profile.json', format = 'json', coverage = 'all', mode = 'detailed', metrics = ['LATENCY'])
from enable_profile()
from enable_object_cache()
from disable_checkpoint_on_shutdown()
from enable_checkpoint_on_shutdown()
from force_checkpoint('read')
from checkpoint('read')
from checkpoint()
from truncate_duckdb_logs()
from import_database('{out}')
from copy_database('read', 'memory')
from add_parquet_key('k', '0123456789112345')
from register_external_resource_type(name = 'a', kind = 'b', create_function = 'c')
from create_external_resource('a')
from destroy_external_resource(deleter_function = 'x', payload = 1)
from which_secret('s3://x', 's3')
from duckdb_secrets()
from duckdb_secrets(redact = false)
from duckdb_extensions()
from duckdb_external_file_cache()
from duckdb_settings()
from duckdb_variables()
from duckdb_temporary_files()
select write_log('pwn')
select write_log('pwn', level := 'error', log_type := 'x', scope := 'database')
select getenv('GRE_BENCH_TEST_SECRET')
select getvariable('x')
select current_setting('allowed_paths')
select current_setting('s3_secret_access_key')
select current_setting('temp_directory')
select set_config('enable_external_access', 'true', false)
select nextval('mine')
select setseed(0.5)
install httpfs
force install httpfs from 'http://127.0.0.1:9'
load httpfs
load '{out}/x.duckdb_extension'
update extensions
create secret s (type s3, key_id 'a', secret 'b')
create persistent secret s (type s3)
drop secret s
prepare p as delete from scores
prepare p as select 1
execute p
deallocate p
"""
BOMBS = """
select repeat('x', 3000000000)
select repeat(repeat('x', 1000000), 1000000)
select string_agg(repeat('x', 1000000), '') from range(100000)
select list_sum(range(1000000000))
select range(1000000000000)
select array_agg(i) from range(10000000000) t(i)
select * from range(1000000000000)
select count(*) from range(1000000000000) a, range(1000000000000) b
select * from range(1000000000000) order by random()
select * from generate_series(0, 9000000000000000000)
from repeat_row('x', 1, num_rows = 1000000000000)
with recursive r as (select 1 as i union all select i + 1 from r) select count(*) from r
with recursive r as (select repeat('x', 1000) as i union all select i || i from r) select max(length(i)) from r
with recursive r as (select 1 as i union all select i + 1 from r) from r
select * from scores a, scores b, scores c, scores d
select regexp_matches(repeat('a', 30000000), '(a*)*(a*)*(a*)*b$')
select regexp_replace(repeat('a', 10000000), '(.*)(.*)(.*)(.*)', '\\4\\3\\2\\1\\1\\1\\1', 'g')
select levenshtein(repeat('a', 1000000), repeat('b', 1000000))
select factorial(1000000)
select 10::hugeint ** 100000
select pg_sleep(3600)
select sleep_ms(3600000)
select unnest(range(1000000000))
select list_reduce(range(10000000), lambda x, y: x + y)
select list_transform(range(3000000), lambda x: repeat('x', x))
select printf('%2147483647d', 1)
select format('{:>2000000000}', 'x')
select lpad('x', 2000000000, 'y')
select rpad('x', 2147483647, 'yz')
select array_to_string(range(200000000), ',')
select md5(repeat('x', 2000000000))
select json_group_array(repeat('x', 10000)) from range(1000000)
select map_from_entries(list_transform(range(20000000), lambda x: {'k': x, 'v': x}))
select i, repeat('x', 1000) from range(100000000) t(i)
pivot (select i from range(10000000) t(i)) on i
select histogram(random()) from range(100000000)
from test_all_types()
from test_vector_types(null::integer)
"""
HIDDEN = """
select 1; delete from scores
select 1;; select 2
select 1; copy (select 1) to '{out}/second.csv'
; copy (select 1) to '{out}/first.csv'
select 1 /* ; */ ; attach '{out}/x.duckdb'
select 1 -- ; select 2
select 1 /* /* nested */ ; delete from scores */
select ';' ; select ';'
select $$ ; delete from scores $$; delete from scores
select E'\\'; delete from scores; --'
(select 1); (select 2)
-- only a comment
/* only a comment */
/* never closed
--
;
;;;
select
selekt 1
from nothing
from scores where
select * from scores where value = 'a'
select 'a'::integer
select 1 / 0
select cast('x' as date)
select error('pwn')
select * from leaderboard where no_such_column
select $1
select ?
select $name
(((((select 1)))))
from leaderboard; -- and no more
SELECT * FROM LEADERBOARD LIMIT 1
values (1), ('a')
describe describe scores
explain explain select 1
explain explain analyze delete from scores
explain
describe delete from scores
summarize delete from scores
show pwn
show variables
show all tables
show databases
from read.main.scores limit 1
from memory.main.x
from system.information_schema.tables
from information_schema.tables
from pg_catalog.pg_class
from sqlite_master
from secret_in_python
from globals
from self
select secret_in_python
select * from duckdb_functions()
select test_vector_types
select columns('.*') from scores limit 1
select * replace (value + 1000 as value) from scores limit 1
select unnest(struct_pack(a := 1))
select '\x1b[2J\x1b]0;pwn\x07'
select '[red]markup[/red]'
select 'ä漢🙂' as "ä漢🙂"
select 1 as "a\nb"
"""


def _lines(block: str) -> list[str]:
    return [line for line in block.strip().split("\n") if line]


ODD = [
    "",
    " ",
    "\n\t\r\n",
    "\x00",
    "select 1\x00; drop table scores",
    "select\u00a01",
    "select\u20031",
    "\ufeffselect 1",
    "\u200bdelete from scores",
    "ｄｅｌｅｔｅ from scores",
    "dele\u0442e from scores",
    "copy\u00a0(select 1) to '{out}/nbsp.csv'",
    "copy\n(select 1)\nto\n'{out}/lines.csv'",
    "select '\udce4'",
    "select '" + "x" * 3_000_000 + "'",
    "select " + "(" * 20_000 + "1" + ")" * 20_000,
    "select " + "+".join(["1"] * 100_000),
    "select " + "not " * 100_000 + "true",
    "select " + "[" * 5_000 + "]" * 5_000,
    "select " + ",".join(f"1 as c{k}" for k in range(20_000)),
    "from " + ", ".join(["scores"] * 2_000),
    " union all ".join(["select 1"] * 20_000),
    "with " + ", ".join(f"x{k} as (select 1)" for k in range(5_000)) + " select 1",
    "from (" * 3_000 + "select 1" + ")" * 3_000,
    "select case " + "when false then 1 " * 50_000 + "end",
    "/*" * 50_000 + "*/" * 50_000 + "select 1",
    ";" * 100_000,
    "select 1;" * 20_000,
    "explain " * 5_000 + "select 1",
    "describe " * 5_000 + "scores",
    'select 1 as "' + "x" * 100_000 + '"',
]

REFUSED = [*_lines(COPIES), *_lines(CHANGES), *_lines(REACHES)]
"""None of these gives a row."""
QUICK = [*REFUSED, *_lines(SETTINGS), *_lines(HIDDEN), *ODD]
LONG = _lines(BOMBS)
"""Those that only a bound ends, and some beside."""
