-- records an imported snapshot, as the last by whatever clock
insert or replace into snapshots (digest, path, imported_at) values (
    $digest, $path,
    greatest($imported_at, (select coalesce(max(imported_at) + interval 1 microsecond, $imported_at) from snapshots))
);
