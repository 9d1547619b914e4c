-- at most one row: settings of the run that planned what a leaderboard shows; a run that came after may have others
select settings
from runs
where run_id = (
    select p.run_id
    from plan p
    join runs r using (run_id)
    order by r.command = 'refresh' desc, r.started_at desc
    limit 1
);
