-- one row per board shown, state and reason of its candidates' pairs: how many, of whom, and what one of them says
select
    coalesce(m.title, g.metric) as title,
    p.state,
    case when p.state <> 'scored' then coalesce(p.reason, 'not tried yet') end as reason,
    count(*) as pairs,
    list_sort(list(distinct p.candidate_id)) as candidates,
    min(p.message) filter (p.state <> 'scored') as example
from pairs p
join signatures_shown w using (signature_id)
join signatures g using (signature_id)
join candidates c using (candidate_id)
left join metrics m on m.metric = g.metric
where c.kind not in ('change', 'graded')
group by w.place, m.title, g.metric, p.state, case when p.state <> 'scored' then coalesce(p.reason, 'not tried yet') end
order by w.place, p.state <> 'scored', p.state, pairs desc, reason;
