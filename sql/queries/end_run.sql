-- closes one run
update runs set ended_at = $ended_at, outcome = $outcome where run_id = $run_id;
