-- one row per board shown and candidate: its difference to the human baseline, which is what editions share
select
    s.metric,
    s.signature_id,
    m.title,
    l.candidate,
    l.difference,
    l.difference_low,
    l.difference_high,
    (l.difference_high - l.difference) / t.q90 as se,
    l.difference_papers as papers,
    l.above_chance,
    l.above_chance_high
from leaderboard l
join signatures s using (signature_id)
join signatures_shown w using (signature_id)
left join metrics m on m.metric = s.metric
left join student_t t on t.df = least(l.difference_papers - 1, 1000)
where l.difference is not null and l.kind <> 'control'
order by w.place, l.candidate;
