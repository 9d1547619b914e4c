-- one row per human review of a fetched snapshot: which version its text is
select review_id, versions, version_id, written_at, rule, licence
from review_versions
order by review_id;
