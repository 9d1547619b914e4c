-- one row per scored pair of one signature of GEM: the log-probabilities that its score is the difference of, in nats
select p.paper_id, p.candidate_id, p.reference_id, c.total as conditional, m.total as marginal
from pairs p
join scores s using (signature_id, paper_id, candidate_id, reference_id)
join spans c on c.lm_id = $lm_id and c.prediction = s.predictions[1]
join spans m on m.lm_id = $lm_id and m.prediction = s.predictions[2]
where p.signature_id = $signature_id and p.state = 'scored'
order by p.paper_id, p.candidate_id, p.reference_id;
