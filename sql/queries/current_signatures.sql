-- one row per signature that the last refresh planned (the last run of any kind, if none did): what a leaderboard shows
-- unless asked otherwise
-- Specific metrics that the run's settings do not name were planned for what others score above chance.
with last_run as (
    select r.run_id, json_extract_string(r.settings, '$.scoring.metrics[*]') as metrics
    from runs r
    where r.run_id in (select run_id from plan)
    order by r.command = 'refresh' desc, r.started_at desc
    limit 1
)
select s.*
from signatures s
cross join last_run l
where s.signature_id in (select signature_id from plan where run_id = l.run_id)
  and (s.chance = 'none' or list_contains(l.metrics, s.metric))
order by s.metric;
