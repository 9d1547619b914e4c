-- one row per board shown and candidate: its difference to the human baseline, which is what editions share
select
    s.metric, m.title, l.candidate, l.difference, l.difference_low, l.difference_high,
    s.evaluation_lm, s.lm_digest, s.writer, s.form
from leaderboard l
join signatures s using (signature_id)
join signatures_shown w using (signature_id)
left join metrics m on m.metric = s.metric
where l.difference is not null and l.kind <> 'control'
order by w.place, l.candidate;
