-- adds one imported file, as the last by whatever clock
insert into imports (run_id, file, sha256, kind, added, unchanged, refused, domain, happened_at)
values (
    $run_id, $file, $sha256, $kind, $added, $unchanged, $refused, $domain,
    greatest($happened_at, (select coalesce(max(happened_at) + interval 1 microsecond, $happened_at) from imports))
);
