-- one row per signature shown and candidate of two releases: pairs of one alone, and those whose state or score is another
-- A score is another where it differs by more than a millionth of itself: what separates two runs is not a change.
with here as (
    select p.signature_id, p.candidate_id, p.paper_id, p.reference_id, p.state, p.value
    from pairs p
    join signatures_shown using (signature_id)
),
there as (
    select p.signature_id, p.candidate_id, p.paper_id, p.reference_id, p.state, p.value
    from other.pairs p
    join other.signatures_shown using (signature_id)
)
select
    signature_id,
    candidate_id as candidate,
    count(*) filter (t.state is null) as only_first,
    count(*) filter (h.state is null) as only_second,
    count(*) filter (h.state <> t.state) as other_state,
    count(*) filter (abs(h.value - t.value) > 1e-6 * greatest(abs(h.value), abs(t.value))) as other_score,
    count(*) filter (h.state is not null and t.state is not null) as shared
from here h
full join there t using (signature_id, candidate_id, paper_id, reference_id)
group by all
order by all;
