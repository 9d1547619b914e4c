-- one row per text of a task and writer that was asked for in vain
select item, outcome, detail, final
from replies
where task = $task and writer = $writer and outcome <> 'ok';
