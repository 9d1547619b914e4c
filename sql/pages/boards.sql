-- one row per signature shown and candidate: best first, then those without a rank
select
    l.*,
    m.title as metric_title,
    m.unit,
    m.place as metric_place,
    c.model as model_name,
    k.family as model_family,
    k.parameters,
    k.knowledge_cutoff,
    k.released as model_released,
    w.place as board_place
from leaderboard l
join signatures_shown w using (signature_id)
left join metrics m using (metric)
left join candidates c on c.candidate_id = l.candidate
left join models k on k.model = c.model
order by w.place, l.rank nulls last, l.kind = 'control', l.mean desc nulls last, l.candidate;
