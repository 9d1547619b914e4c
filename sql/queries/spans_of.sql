-- one row per known prediction among those asked for
select prediction, total, ids, logprobs, escaped
from spans
where lm_id = $lm_id and prediction in (select unnest($predictions::varchar[]));
