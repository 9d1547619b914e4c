-- one row per role and name
select role, name, status, family, cutoff, released
from exposures
order by role, name;
