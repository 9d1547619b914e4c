-- records how the sample was drawn
insert into draws (papers, seed, min_reviews, roles, candidate_slot, reference_slots, known, eligible, drawn_at)
values ($papers, $seed, $min_reviews, $roles, $candidate_slot, $reference_slots, $known, $eligible, $drawn_at);
