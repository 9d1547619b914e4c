-- adds finished pairs
insert into scores (
    signature_id, paper_id, candidate_id, reference_id, value, problem, problem_message, broken, predictions, run_id
)
select signature_id, paper_id, candidate_id, reference_id, value, problem, problem_message, broken, predictions, run_id
from incoming;
