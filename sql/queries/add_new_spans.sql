-- adds token log-probabilities that are not yet known
insert or ignore into spans (lm_id, prediction, total, ids, logprobs, escaped)
select lm_id, prediction, total, ids, logprobs, escaped
from incoming;
