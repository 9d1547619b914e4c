-- one row per signature and change that was tried with it; the boards' own signatures first
select e.*, s.metric, m.title as metric_title, c.title as change_title
from effects e
join signatures s using (signature_id)
left join metrics m using (metric)
left join changes c using (change)
left join signatures_shown w using (signature_id)
order by m.place, w.place nulls last, e.signature_id, e.family, e.change;
