-- one row per run that scored pairs of one signature and candidate: the last first
select r.run_id, r.command, r.started_at, r.settings, r.code_version, count(*) as pairs
from scores s
join runs r using (run_id)
where s.signature_id = $signature_id and s.candidate_id = $candidate_id
group by all
order by r.started_at desc;
