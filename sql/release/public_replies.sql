-- one row per prediction whose reply may be passed on: that of GEM is the reference
select distinct unnest(s.predictions) as prediction
from edition.scores s
join edition.signatures g using (signature_id)
where (
    g.metric like 'gem%' and s.reference_id in (select review_id from public_reviews)
) or exists (select 1 from free_licences where licence is null);
