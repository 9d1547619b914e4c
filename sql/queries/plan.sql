-- name: draw
-- at most one row: how the sample was chosen
from draws;

-- name: sample
-- one row per sampled paper and human role, in the edition's order
from sample
order by position, place;

-- name: candidates
-- one row per candidate of the boards: humans, models and controls
select candidate_id, kind, model, prompt, guideline
from candidates
where kind in ('human', 'model', 'control')
order by candidate_id;

-- name: group_candidates
-- sets a candidate's group and its note for readers
update candidates
set group_name = given.group_name, note = given.note
from incoming given
where candidates.candidate_id = given.candidate_id
  and (candidates.group_name is distinct from given.group_name or candidates.note is distinct from given.note);

-- name: known_candidates
-- one row per candidate with reviews or planned pairs in the edition, except single graded reviews
select candidate
from reviews
union
select candidate_id
from candidates
where kind <> 'graded'
order by candidate;

-- name: candidate_models
-- one row per model that is a candidate: its name, which the models file may list
select distinct model from candidates where model is not null order by model;

-- name: change_makers
-- one row per candidate that consists of changed reviews: the writer of the change when it was first planned
select candidate_id, prompt
from candidates
where kind = 'change';

-- name: candidate_counts
-- one row: the numbers of a candidate's reviews, judgments and scores
select
    (select count(*) from reviews where candidate = $candidate) as reviews,
    (select count(*) from judgments join reviews using (review_id) where candidate = $candidate) as judgments,
    (select count(*) from scores where candidate_id = $candidate) as scores,
    (select max(kind) from candidates where candidate_id = $candidate) as kind;

-- name: name_candidate
-- sets the candidate that forget_candidate deletes
set variable candidate = $candidate;

-- name: forget_candidate
-- deletes the candidate that name_candidate sets: its reviews, their judgments, its pairs and their scores
-- Token log-probabilities that another candidate's score needs are kept.
delete from spans
where prediction in (
    (
        select unnest(predictions) from scores where candidate_id = getvariable('candidate')
        union
        select unnest(predictions) from stand_ins where getvariable('candidate') in (candidate_id, reference_by)
        union
        select unnest(predictions) from committees where list_contains(string_split(members, ' and '), getvariable('candidate'))
    )
    except
    (
        select unnest(predictions) from scores where candidate_id <> getvariable('candidate')
        union
        select unnest(predictions) from stand_ins where getvariable('candidate') not in (candidate_id, reference_by)
        union
        select unnest(predictions) from committees
        where not list_contains(string_split(members, ' and '), getvariable('candidate'))
    )
);
delete from scores where candidate_id = getvariable('candidate');
delete from stand_ins where getvariable('candidate') in (candidate_id, reference_by);
delete from committees where list_contains(string_split(members, ' and '), getvariable('candidate'));
delete from problems where candidate_id = getvariable('candidate');
delete from plan where candidate_id = getvariable('candidate');
delete from moved where candidate_id = getvariable('candidate');
delete from chance where candidate_id = getvariable('candidate');
delete from differences where candidate_id = getvariable('candidate');
delete from rank_statistics where candidate_id = getvariable('candidate');
delete from pair_tests where getvariable('candidate') in (first, second);
delete from profiles where candidate_id = getvariable('candidate');
delete from lengths where candidate_id = getvariable('candidate');
delete from exposures where role = 'candidate' and name = getvariable('candidate');
delete from candidates where candidate_id = getvariable('candidate');
delete from additions
where kind <> 'paper' and item in (select review_id from reviews where candidate = getvariable('candidate'));
delete from judgments where review_id in (select review_id from reviews where candidate = getvariable('candidate'));
delete from licences
where kind = 'review' and item in (select review_id from reviews where candidate = getvariable('candidate'));
delete from replies
where task in ('review', 'judgments') and (
    item in (select review_id from reviews where candidate = getvariable('candidate'))
    or item in (select paper_id || ':' || getvariable('candidate') from papers)
);
delete from reviews where candidate = getvariable('candidate');

-- name: current_signatures
-- one row per signature that the last refresh planned or, without a refresh, the last run of any kind: the default of a
-- leaderboard
-- Specific metrics that the settings do not name are left out: they were planned only for other metrics' chance scores.
with last_run as (
    select r.run_id, json_extract_string(r.settings, '$.scoring.metrics[*]') as metrics
    from runs r
    where r.run_id in (select run_id from plan)
    order by r.command = 'refresh' desc, r.started_at desc
    limit 1
)
select s.*
from signatures s
cross join last_run l
where s.signature_id in (select signature_id from plan where run_id = l.run_id)
  and (s.chance = 'none' or list_contains(l.metrics, s.metric))
order by s.metric;

-- name: planned_signatures
-- one row per signature that has planned pairs; the most recently planned comes first
with planned as (
    select p.signature_id, max(r.started_at) as planned_at
    from plan p
    join runs r using (run_id)
    group by all
)
select s.*
from signatures s
join planned using (signature_id)
order by planned_at desc, s.metric;

-- name: lms_of_metric
-- one row per evaluation LM that has a signature like the given one, apart from the LM: the given signature's LM comes
-- first, then the others by name
-- If an LM has several such signatures, the one with the most scores is returned.
with alike as (
    select s.evaluation_lm, s.signature_id, s.signature_id = o.signature_id as own
    from signatures s
    join signatures o on (s.metric, s.prompt_sha256, s.writer, s.synopsis_writer, s.form, s.text_cut, s.ascii_fold, s.chance)
        is not distinct from
        (o.metric, o.prompt_sha256, o.writer, o.synopsis_writer, o.form, o.text_cut, o.ascii_fold, o.chance)
    where o.signature_id = $signature_id and (own or s.evaluation_lm <> o.evaluation_lm)
),
counts as (
    select signature_id, count(value) as scored from scores group by all
)
select evaluation_lm, first(signature_id order by scored desc nulls last, signature_id) as signature_id
from alike
left join counts using (signature_id)
group by all
order by bool_or(own) desc, evaluation_lm;

-- name: candidate_signatures
-- one row per signature under which a candidate has planned pairs
select *
from signatures
where signature_id in (select signature_id from plan where candidate_id = $candidate_id)
order by metric, signature_id;

-- name: planned_candidate
-- at most one row: a candidate
select candidate_id, kind, model, prompt, guideline, change
from candidates
where candidate_id = $candidate_id;

-- name: planned_candidates
-- one row per candidate that has planned pairs under every one of the requested signatures
select candidate_id
from plan
where signature_id in (select unnest($signature_ids::varchar[]))
group by candidate_id
having count(distinct signature_id) = len($signature_ids::varchar[]);

-- name: add_plan_beside
-- adds or replaces planned pairs; pairs that a refresh planned keep the run_id of that refresh, which a leaderboard
-- needs
insert into plan by name from incoming
on conflict do update set state = excluded.state, reason = excluded.reason, detail = excluded.detail;

-- name: clear_plan
-- deletes the pairs that other runs planned under one signature: those of $candidates or, if that is null, of all
-- candidates that a refresh plans
delete from plan
where signature_id = $signature_id
  and run_id <> $run_id
  and candidate_id in (
      select candidate_id
      from candidates
      where ($candidates is null and kind not in ('change', 'graded')) or candidate_id in (select unnest($candidates::varchar[]))
  );

-- name: forget_moved_scores
-- deletes scores that involve chance if they used another review of another paper than the incoming one
delete from scores
where (signature_id, candidate_id, paper_id) in (
    select (s.signature_id, m.candidate_id, m.paper_id)
    from moved m
    join signatures s on s.chance <> 'none' and s.writer = m.writer
    join incoming n on n.writer = m.writer and n.candidate_id = m.candidate_id and n.paper_id = m.paper_id
    where m.review_id <> n.review_id
);

-- name: forget_failed
-- deletes the final problems of the incoming pairs, so that the pairs are tried again
delete from scores
where problem is not null
  and (signature_id, paper_id, candidate_id, reference_id) in (
      select (signature_id, paper_id, candidate_id, reference_id) from incoming
  );

-- name: waiting_texts
-- one row per reason why pairs of the requested candidates wait for a text: the number of papers, and one message
select reason, count(distinct paper_id) as papers, coalesce(min(detail), reason) as detail
from plan
where state = 'waiting' and reason <> 'no_review' and candidate_id in (select unnest($candidates::varchar[]))
  and signature_id in (select unnest($signature_ids::varchar[]))
group by reason
order by papers desc, reason;

-- name: unplanned_reviews
-- one row per candidate with reviews of the board's papers that came after the last plan: the number of these reviews
select r.candidate, count(*) as reviews
from reviews r
where r.candidate <> 'human'
  and r.paper_id in (select paper_id from plan)
  and not exists (
      select 1
      from plan p
      where p.candidate_id = r.candidate and p.paper_id = r.paper_id and p.reason is distinct from 'no_review'
  )
group by r.candidate
order by r.candidate;

-- name: uncovered
-- one row per candidate that lacks reviews of planned papers: the number of planned papers, the number of those without
-- a review, and the first three of these
select
    candidate_id as candidate,
    count(distinct paper_id) as papers,
    count(distinct paper_id) filter (reason = 'no_review') as lacking,
    list_sort(list(distinct paper_id) filter (reason = 'no_review'))[1:3] as examples
from plan
where signature_id in (select unnest($signature_ids::varchar[]))
  and candidate_id in (select candidate_id from plan where reason = 'no_review')
group by all
having lacking > 0
order by candidate;
