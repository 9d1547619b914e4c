-- at most one row: the snapshot imported last
select digest, path
from snapshots
order by imported_at desc
limit 1;
