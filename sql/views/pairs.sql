-- one row per planned pair: its state, and its score in nats or the reason why it has none
create or replace view pairs as
with last_problem as (
    select signature_id, paper_id, candidate_id, reference_id, arg_max(problem, (happened_at, problem, message)) as problem,
           arg_max(message, (happened_at, problem, message)) as message
    from problems
    group by all
)
select
    p.signature_id,
    p.paper_id,
    p.candidate_id,
    p.reference_id,
    case
        when p.state = 'waiting' then 'missing'
        when p.state <> 'due' then p.state
        when s.value is not null then 'scored'
        when s.problem is not null then 'failed'
        else 'missing'
    end as state,
    case when p.state = 'due' then s.value end as value,
    -- a pair with a score has no reason; earlier problems of the pair stay in the table problems
    case
        when p.state <> 'due' then p.reason
        when s.value is null then coalesce(s.problem, l.problem)
    end as reason,
    case
        when p.state <> 'due' then p.detail
        when s.value is null then coalesce(s.problem_message, l.message)
    end as message,
    coalesce(s.broken, false) as broken
from plan p
left join scores s using (signature_id, paper_id, candidate_id, reference_id)
left join last_problem l using (signature_id, paper_id, candidate_id, reference_id);
