-- adds one run; it starts after all that are there, even by a clock that was set back: which is the last must stay known
insert into runs (run_id, command, started_at, settings, code_version)
values (
    $run_id, $command,
    greatest($started_at, (select coalesce(max(started_at) + interval 1 microsecond, $started_at) from runs)),
    $settings, $code_version
);
