-- one row per signature that the last refresh planned (the last run of any kind, if none did): what a leaderboard shows
-- unless asked otherwise
select s.*
from signatures s
where s.signature_id in (
    select signature_id
    from plan
    where run_id = (
        select p.run_id
        from plan p
        join runs r using (run_id)
        order by r.command = 'refresh' desc, r.started_at desc
        limit 1
    )
)
order by s.metric;
