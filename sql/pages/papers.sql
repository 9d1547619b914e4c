-- one row per paper of the boards shown: how much is scored, and under the first board whose review tells most
with shown as (
    select p.*, w.place, c.kind
    from pairs p
    join signatures_shown w using (signature_id)
    join candidates c using (candidate_id)
    where c.kind not in ('change', 'graded')
),
counts as (
    select
        paper_id,
        count(*) filter (state = 'scored') as scored,
        count(*) filter (state <> 'excluded') as planned
    from shown
    group by all
),
first_board as (
    select paper_id, candidate_id, kind, avg(value) as mean
    from shown
    where place = (select min(place) from signatures_shown) and state = 'scored'
    group by all
),
told as (
    select
        paper_id,
        max(mean) filter (kind = 'human') as human,
        max(mean) filter (kind <> 'control' and kind <> 'human') as best,
        arg_max(candidate_id, mean) filter (kind <> 'control' and kind <> 'human') as best_candidate
    from first_board
    group by all
)
select c.*, t.human, t.best, t.best_candidate, p.title, p.abstract
from counts c
left join told t using (paper_id)
left join papers p using (paper_id)
order by c.paper_id;
