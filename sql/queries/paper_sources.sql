-- one row per paper of a fetched snapshot: its PDF and licence
select paper_id, pdf_sha256, pdf_problem, pdf_version_status, licence
from paper_sources
order by paper_id;
