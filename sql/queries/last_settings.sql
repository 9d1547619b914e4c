-- at most one row: settings of the last refresh whose settings could be used
select settings
from runs
where command = 'refresh' and outcome is distinct from 'refused'
order by started_at desc
limit 1;
