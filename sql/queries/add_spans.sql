-- adds token log-probabilities, none of which is known yet
insert into spans (lm_id, prediction, total, ids, logprobs, escaped)
select lm_id, prediction, total, ids, logprobs, escaped
from incoming;
