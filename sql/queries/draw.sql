-- at most one row: how the sample was drawn
select papers, seed, min_reviews, roles, candidate_slot, reference_slots, known, eligible, drawn_at
from draws;
