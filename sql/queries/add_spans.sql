-- adds token log-probabilities that are not yet known
insert or ignore into spans (lm_id, prediction, total, ids, logprobs, escaped)
select unnest($lm_id::varchar[]), unnest($prediction::varchar[]), unnest($total::double[]),
       unnest($ids::integer[][]), unnest($logprobs::float[][]), unnest($escaped::integer[]);
