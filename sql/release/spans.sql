-- one row per evaluation LM and prediction; token ids spell the reply, so they go only where it may be passed on
select s.* replace (case when u.prediction is not null then s.ids end as ids)
from edition.spans s
left join public_replies u using (prediction)
order by s.lm_id, s.prediction;
