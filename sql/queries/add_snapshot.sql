-- records an imported snapshot
insert or replace into snapshots (digest, path, imported_at) values ($digest, $path, $imported_at);
