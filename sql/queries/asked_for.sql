-- one row per writer that was asked for texts of a task
select distinct writer
from replies
where task = $task;
