-- one row per candidate that the edition has reviews of or has planned pairs of, single graded reviews aside
select candidate
from reviews
union
select candidate_id
from candidates
where kind <> 'graded'
order by candidate;
