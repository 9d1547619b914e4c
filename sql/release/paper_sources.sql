-- one row per paper of a fetched snapshot
from edition.paper_sources order by paper_id;
