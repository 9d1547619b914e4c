-- adds one imported file
insert into imports (run_id, file, sha256, kind, added, unchanged, refused, domain, happened_at)
values ($run_id, $file, $sha256, $kind, $added, $unchanged, $refused, $domain, $happened_at);
