-- one row per paper and stratum that it belongs to, such as the version of its PDF or its decision
-- Papers that come from no notes have no strata.
create or replace view kinds_of_papers as
select paper_id, 'PDF version' as stratum, replace(coalesce(s.pdf_version_status, 'unknown'), '_', ' ') as value
from papers
left join paper_sources s using (paper_id)
where exists (from snapshots)
union all
select paper_id, stratum, value from paper_strata;
