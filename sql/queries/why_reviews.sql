-- one row per review among those asked for: which version of which text it is, and the judgments by one writer
select
    r.review_id,
    r.candidate,
    sha256(r.text) as text_sha256,
    v.version_id,
    v.written_at,
    v.rule as version_rule,
    sha256(j.text) as judgments_sha256,
    j.lines,
    j.strays
from reviews r
left join review_versions v using (review_id)
left join judgments j on j.review_id = r.review_id and j.writer = $writer
where r.review_id in (select unnest($review_ids::varchar[]))
order by r.review_id;
