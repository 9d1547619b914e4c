-- at most one row: what is reviewed, by the last imported file that tells
select domain
from imports
where domain is not null
order by happened_at desc
limit 1;
