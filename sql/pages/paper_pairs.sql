-- one row per pair of the boards shown, paper by paper: its score, and per token of the reference what the candidate's
-- review added to its log-probability (tenths of a nat, joined by commas)
select
    p.paper_id,
    p.signature_id,
    w.place,
    p.candidate_id,
    c.kind,
    p.reference_id,
    p.state,
    p.reason,
    p.value,
    case when p.state = 'scored' and len(s.predictions) = 2 and s.predictions[1] <> s.predictions[2] then array_to_string(list_transform(
        list_zip(a.logprobs, b.logprobs), lambda pair: round(10 * (pair[1] - pair[2]))::integer), ',') end as gains,
    x.pieces
from pairs p
join signatures_shown w using (signature_id)
join signatures g using (signature_id)
join candidates c using (candidate_id)
left join scores s using (signature_id, paper_id, candidate_id, reference_id)
left join spans a on g.metric like 'gem%' and a.lm_id = w.lm_id and a.prediction = s.predictions[1]
left join spans b on g.metric like 'gem%' and b.lm_id = w.lm_id and b.prediction = s.predictions[2]
left join pieces x on x.signature_id = p.signature_id and x.reference_id = p.reference_id
where c.kind not in ('change', 'graded')
order by p.paper_id, w.place, c.kind <> 'human', c.kind = 'control', p.candidate_id, p.reference_id;
