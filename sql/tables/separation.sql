-- one row per signature: how often a same-paper score exceeds an other-paper score (AUC, 95% interval by paper)
create table if not exists separation (
    signature_id varchar primary key,
    same         varchar not null,
    other        varchar not null,
    same_pairs   integer not null,
    other_pairs  integer not null,
    auc          double not null check (auc between 0 and 1),
    low          double not null check (isfinite(low)),
    high         double not null check (isfinite(high))
);
