-- one row per signature: what its validation came to, here or in another edition; no row: never validated
create table if not exists validations (
    signature_id varchar primary key,
    verdict      varchar not null check (verdict in ('pass', 'fail', 'undecided')),
    edition      varchar not null,       -- where it was validated
    detail       varchar not null,       -- which changes it does not pass, which were not tried
    validated_at timestamptz not null
);
