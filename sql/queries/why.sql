-- name: why_pairs
-- one row per planned pair of one signature and candidate: its score with its terms and its run, or why it has none
select p.paper_id, p.reference_id, p.state, p.value, p.reason, p.message, s.predictions, s.run_id
from pairs p
left join scores s using (signature_id, paper_id, candidate_id, reference_id)
where p.signature_id = $signature_id and p.candidate_id = $candidate_id
order by p.paper_id, p.reference_id;

-- name: why_paper
-- one row: a paper, the source of its text, and its snapshot
select
    p.paper_id,
    p.title,
    sha256(p.abstract) as abstract_sha256,
    coalesce(s.pdf_sha256, case when t.origin = 'pdf' then t.sha256 end) as pdf_sha256,
    s.pdf_version_status,
    t.status as text_status,
    sha256(coalesce(t.text, p.text)) as text_sha256,
    (select arg_max(digest, imported_at) from snapshots) as snapshot
from papers p
left join paper_sources s using (paper_id)
left join texts t using (paper_id)
where p.paper_id = $paper_id;

-- name: why_reviews
-- one row per requested review: its version, its text, and the judgments by one writer
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

-- name: why_spans
-- one row per evaluation LM and requested prediction: the log-probabilities of its reply, token by token
select lm_id, prediction, total, ids, logprobs, escaped
from spans
where prediction in (select unnest($predictions::varchar[]))
order by lm_id, prediction;

-- name: why_run
-- one row per run that scored pairs of one signature and candidate; the last run comes first
select r.run_id, r.command, r.started_at, r.settings, r.code_version, count(*) as pairs
from scores s
join runs r using (run_id)
where s.signature_id = $signature_id and s.candidate_id = $candidate_id
group by all
order by r.started_at desc;

-- name: moved
-- one row per paper: the review of another paper with which one candidate's chance is scored
select paper_id, review_id, swap
from moved
where writer = $writer and candidate_id = $candidate_id
order by paper_id;
