-- at most one row: settings of the last refresh
select settings
from runs
where command = 'refresh'
order by started_at desc
limit 1;
