-- name: any_span
-- one row if any log-probability of an evaluation LM is stored
select 1 as known
from spans
where lm_id = $lm_id
limit 1;

-- name: spans_of
-- one row per requested prediction whose log-probabilities are stored
select prediction, total, ids, logprobs, escaped
from spans
where lm_id = $lm_id and prediction in (select unnest($predictions::varchar[]));

-- name: missing
-- one row per pair that is due and neither scored nor finally failed
select signature_id, paper_id, candidate_id, reference_id
from pairs
where state = 'missing' and reason is distinct from 'no_review' and signature_id in (select unnest($signature_ids::varchar[]));

-- name: progress
-- one row per signature: the number of planned pairs in each state, of $candidates or, if that is null, of all
-- candidates of the boards
-- unfinished: the missing pairs that the next run tries, without those whose review nobody supplied
select
    p.signature_id,
    s.metric,
    count(*) as planned,
    count(*) filter (p.state = 'scored') as scored,
    count(*) filter (p.state = 'failed') as failed,
    count(*) filter (p.state = 'excluded') as excluded,
    count(*) filter (p.state = 'missing') as missing,
    count(*) filter (p.state = 'missing' and p.reason is distinct from 'no_review') as unfinished
from pairs p
join signatures s using (signature_id)
join candidates c using (candidate_id)
where p.signature_id in (select unnest($signature_ids::varchar[])) and (
    ($candidates is null and c.kind not in ('change', 'graded')) or c.candidate_id in (select unnest($candidates::varchar[]))
)
group by p.signature_id, s.metric
order by s.metric;

-- name: reasons
-- one row per metric, state and reason of pairs without a score: the number of such pairs, and the message of one
-- The pairs are those of $candidates or, if that is null, of all candidates of the boards.
select
    s.metric,
    p.state,
    coalesce(p.reason, 'not tried yet') as reason,
    p.broken,
    p.state = 'missing' and p.reason is distinct from 'no_review' as unfinished,
    count(*) as pairs,
    coalesce(min(p.message), '') as example
from pairs p
join signatures s using (signature_id)
join candidates c using (candidate_id)
where p.state <> 'scored' and p.signature_id in (select unnest($signature_ids::varchar[])) and (
    ($candidates is null and c.kind not in ('change', 'graded')) or c.candidate_id in (select unnest($candidates::varchar[]))
)
group by s.metric, p.state, p.reason, p.broken
order by s.metric, p.state, pairs desc;

-- name: scored_pairs
-- one row per scored pair of one candidate
select paper_id, value
from pairs
where signature_id = $signature_id and candidate_id = $candidate_id and state = 'scored'
order by paper_id, reference_id;

-- name: finished_pairs
-- one row per pair of one signature that has a score or a final problem, or whose review nobody supplied
select paper_id, candidate_id, reference_id, value, reason
from pairs
where signature_id = $signature_id and (state in ('scored', 'failed') or reason = 'no_review')
order by paper_id, candidate_id, reference_id;

-- name: candidate_pairs
-- one row per planned pair of one signature and the requested candidates, with its state, score or reason
-- unit: the same for papers that exchange their reviews and so depend on each other; null unless the score involves
-- chance
select p.candidate_id, p.paper_id, p.reference_id, p.state, p.value, p.reason,
    case when g.chance <> 'none' then coalesce(m.swap, p.paper_id) end as unit
from pairs p
join signatures g using (signature_id)
left join moved m on m.writer = g.writer and m.candidate_id = p.candidate_id and m.paper_id = p.paper_id
where p.signature_id = $signature_id and p.candidate_id in (select unnest($candidates::varchar[]))
order by p.candidate_id, p.paper_id, p.reference_id;

-- name: chance_pairs
-- one row per pair with scores of a metric and of its specific form: both scores, and the pair's independent unit
select
    p.candidate_id,
    p.paper_id,
    coalesce(m.swap, p.paper_id) as unit,
    p.value,
    s.value as above
from pairs p
join pairs s using (paper_id, candidate_id, reference_id)
join candidates c using (candidate_id)
join signatures g on g.signature_id = p.signature_id
left join moved m on m.writer = g.writer and m.candidate_id = p.candidate_id and m.paper_id = p.paper_id
where p.signature_id = $signature_id and s.signature_id = $specific_id and p.state = 'scored' and s.state = 'scored'
  and c.kind in ('human', 'model', 'control')
order by p.candidate_id, p.paper_id, p.reference_id;

-- name: board_pairs
-- one row per scored pair of one signature whose candidate is the human baseline or a model; unit: as in
-- candidate_pairs
select p.candidate_id, p.paper_id, p.reference_id, p.value,
    case when g.chance <> 'none' then coalesce(m.swap, p.paper_id) end as unit
from pairs p
join candidates c using (candidate_id)
join signatures g using (signature_id)
left join moved m on m.writer = g.writer and m.candidate_id = p.candidate_id and m.paper_id = p.paper_id
where p.signature_id = $signature_id and p.state = 'scored' and c.kind in ('human', 'model')
order by p.candidate_id, p.paper_id, p.reference_id;

-- name: pair_logprobs
-- one row per scored pair of one signature of GEM: the two log-probabilities whose difference is its score, in nats
select p.paper_id, p.candidate_id, p.reference_id, c.total as conditional, m.total as marginal
from pairs p
join scores s using (signature_id, paper_id, candidate_id, reference_id)
join spans c on c.lm_id = $lm_id and c.prediction = s.predictions[1]
join spans m on m.lm_id = $lm_id and m.prediction = s.predictions[2]
where p.signature_id = $signature_id and p.state = 'scored'
order by p.paper_id, p.candidate_id, p.reference_id;

-- name: score_count
-- one row: the number of finished pairs
select count(*) as scores from scores;

-- name: stand_ins
-- one row per score of one signature on a review that stands in for a human reference
select paper_id, candidate_id, review_id, reference_by, reference_id, value, cut
from stand_ins
where signature_id = $signature_id
order by paper_id, candidate_id, review_id, reference_id;

-- name: committees
-- one row per score of one signature by a committee of reviewers
select paper_id, reference_id, members, value, repeats, problem
from committees
where signature_id = $signature_id
order by paper_id, reference_id, members;

-- name: reference_lengths
-- one row per paper and reference on which models have scores of one signature: how many tokens of the evaluation LM
-- the reference has
select distinct s.paper_id, s.reference_id, len(p.ids) as tokens
from scores s
join candidates c on c.candidate_id = s.candidate_id and c.kind = 'model'
join spans p on p.lm_id = $lm_id and p.prediction = s.predictions[1]
where s.signature_id = $signature_id and s.value is not null
order by s.paper_id, s.reference_id;
