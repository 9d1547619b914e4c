-- one row per run; its settings stand in the manifest, without paths and addresses of the machine
select run_id, command, started_at, ended_at, outcome, code_version from edition.runs order by run_id;
