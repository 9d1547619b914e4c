-- one row per signature and coefficient: how a metric's scores of graded reviews agree with the grades, or why not
create table if not exists agreements (
    signature_id     varchar not null references signatures (signature_id),
    kind             varchar not null check (kind in ('spearman', 'kendall', 'pearson')),
    value            double check (isfinite(value)),
    low              double,             -- 95%, items with their reviews resampled
    high             double,
    p                double,
    flat_p           double,             -- takes reviews for independent
    within           double,             -- among the reviews of one item
    within_low       double,
    within_high      double,
    at_length        double,             -- with log length held fixed
    at_length_low    double,
    at_length_high   double,
    over_length      double,             -- less the coefficient of mere length, on the same reviews
    over_length_low  double,
    over_length_high double,
    over_length_p    double,
    reviews          integer not null,
    items            integer not null,
    graded           integer not null,
    problem          varchar,
    run_id           varchar not null,
    primary key (signature_id, kind),
    check ((value is null) = (problem is not null))
);
