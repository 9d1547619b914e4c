-- adds rows of student_t
insert into student_t
select unnest($df::integer[]), unnest($q90::double[]), unnest($q95::double[]);
