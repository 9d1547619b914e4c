-- one row per human review of a fetched snapshot
from edition.review_versions order by review_id;
