-- one row per signature: how many of its planned pairs are in which state
create or replace view progress as
select
    signature_id,
    s.metric,
    count(*) as planned,
    count(*) filter (state = 'scored') as scored,
    count(*) filter (state = 'failed') as failed,
    count(*) filter (state = 'excluded') as excluded,
    count(*) filter (state = 'missing') as missing
from pairs
join signatures s using (signature_id)
group by all;
