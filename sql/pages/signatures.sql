-- one row per signature shown, with what became of its validation and of the separation of papers
select s.*, w.place, a.auc, a.low as auc_low, a.high as auc_high, a.same, a.other, v.verdict, v.edition as validated_on,
    v.detail
from signatures s
join signatures_shown w using (signature_id)
left join separation a using (signature_id)
left join validations v using (signature_id)
order by w.place;
