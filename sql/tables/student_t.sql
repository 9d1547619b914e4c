-- one row per degrees of freedom: quantiles of Student's t for two-sided 90% and 95% intervals
create table if not exists student_t (
    df  integer primary key,
    q90 double not null,
    q95 double not null
);
