-- one row per evaluation LM and prediction among those asked for: the log-probabilities of its reply, token by token
select lm_id, prediction, total, ids, logprobs, escaped
from spans
where prediction in (select unnest($predictions::varchar[]))
order by lm_id, prediction;
