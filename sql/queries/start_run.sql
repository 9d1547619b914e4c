-- adds one run
insert into runs (run_id, command, started_at, settings, code_version)
values ($run_id, $command, $started_at, $settings, $code_version);
