-- adds candidates that are not yet known
insert or ignore into candidates (candidate_id, kind, model, prompt, guideline, change)
select unnest($candidate_id::varchar[]), unnest($kind::varchar[]), unnest($model::varchar[]),
       unnest($prompt::varchar[]), unnest($guideline::varchar[]), unnest($change::varchar[]);
