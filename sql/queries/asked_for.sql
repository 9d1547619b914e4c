-- one row per candidate and writer that was asked for reviews; in a review's item the candidate stands last
select distinct regexp_extract(item, '[^:]*$') as candidate, writer, outcome = 'ok' as wrote
from replies
where task = 'review';
