-- closes one run; by a clock that was set back meanwhile it took no time
update runs set ended_at = greatest($ended_at, started_at), outcome = $outcome where run_id = $run_id;
