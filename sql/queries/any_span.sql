-- one row if anything is known of what an evaluation LM says
select 1 as known
from spans
where lm_id = $lm_id
limit 1;
