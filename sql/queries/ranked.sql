-- one row per board and ranked candidate of one signature: best first
select board, candidate, rank
from boards
where signature_id = $signature_id and rank is not null
order by board, rank, candidate;
