-- name: anchored
-- one row per board shown and candidate: its difference from the human baseline, which is comparable across editions
select
    s.metric,
    s.signature_id,
    m.title,
    l.candidate,
    l.kind,
    l.vs_human as difference,
    l.vs_human_low as low,
    l.vs_human_high as high,
    (l.vs_human_high - l.vs_human) / t.q90 as se,
    l.vs_human_papers as papers,
    l.vs_human_units as units,
    l.above_chance,
    l.above_chance_high
from leaderboard l
join signatures s using (signature_id)
join signatures_shown w using (signature_id)
left join metrics m on m.metric = s.metric
left join student_t t on t.df = least(l.vs_human_units - 1, 1000)
where l.vs_human is not null
order by w.place, l.candidate;

-- name: boards
-- one row per signature shown and candidate: the best come first, then those without a rank
select
    l.*,
    m.title as metric_title,
    m.unit,
    m.place as metric_place,
    k.family as model_family,
    k.parameters,
    k.knowledge_cutoff,
    k.released as model_released,
    w.place as board_place
from leaderboard l
join signatures_shown w using (signature_id)
left join metrics m using (metric)
left join models k on k.model = l.model
order by w.place, l.group_name nulls first, l.rank nulls last, l.kind = 'control', l.score desc nulls last, l.candidate;

-- name: candidates
-- one row per candidate of the boards shown: its maker, its prompts, and the known facts about its model
select
    c.candidate_id as candidate,
    c.kind,
    c.model,
    c.prompt,
    c.guideline,
    c.change,
    c.note,
    m.entry,
    m.family,
    m.parameters,
    m.knowledge_cutoff,
    m.released,
    m.price_in,
    m.price_out
from candidates c
left join models m using (model)
where c.candidate_id in (
    select p.candidate_id from pairs p join signatures_shown using (signature_id) where c.kind not in ('change', 'graded')
)
order by c.kind <> 'human', c.kind = 'control', c.candidate_id;

-- name: changed_pairs
-- one row per signature shown and candidate of two releases: pairs that only one release has, and pairs that differ
-- Pairs differ in their state, or in their score by more than a millionth of it; smaller differences are noise.
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

-- name: effects
-- one row per signature and change (perturbation) that was tried with it; the boards' own signatures come first
select e.*, s.metric, m.title as metric_title, c.title as change_title
from effects e
join signatures s using (signature_id)
left join metrics m using (metric)
left join changes c using (change)
left join signatures_shown w using (signature_id)
order by m.place, w.place nulls last, e.signature_id, e.family, e.change;

-- name: examples
-- one row per candidate: its review and the human baseline's review of one paper, if the texts of both are public
-- Of all such papers, the one with the shortest texts is chosen.
with words as (
    select r.candidate, r.paper_id, r.review_id, r.text, j.writer, j.text as judgments
    from reviews r
    left join sample s on s.review_id = r.review_id and s.role = 'candidate'
    left join judgments j on j.review_id = r.review_id and j.text is not null
        and j.writer in (select writer from signatures join signatures_shown using (signature_id))
    where coalesce(r.text, j.text) is not null and (r.candidate <> 'human' or s.role = 'candidate')
),
candidates_of as (select candidate_id from candidates where kind not in ('human', 'change', 'graded'))
select
    a.candidate,
    a.paper_id,
    p.title,
    a.text as review,
    a.judgments,
    h.text as human_review,
    h.judgments as human_judgments
from words a
join words h on h.candidate = 'human' and h.paper_id = a.paper_id and h.writer is not distinct from a.writer
left join papers p on p.paper_id = a.paper_id
where a.candidate in (from candidates_of)
qualify row_number() over (
    partition by a.candidate
    order by coalesce(len(a.text), 0) + coalesce(len(a.judgments), 0) + coalesce(len(h.text), 0), a.paper_id, a.writer
) = 1
order by a.candidate;

-- name: judgment_kinds
-- one row per writer of the boards shown and candidate: the numbers of judgments with each opening
select candidate, writer, reviews, openings, lines
from judgment_kinds
where writer in (select writer from signatures join signatures_shown using (signature_id))
order by candidate, writer;

-- name: strata
-- one row per stratum, value, board shown and candidate: its scores on these papers
-- PDF versions come first; within a stratum, values with the most papers come first.
with kinds_of_papers as (
    select paper_id, 'PDF version' as stratum, replace(coalesce(s.pdf_version_status, 'unknown'), '_', ' ') as value
    from papers
    left join paper_sources s using (paper_id)
    where exists (from snapshots)
    union all
    select paper_id, stratum, value from paper_strata
),
sizes as (
    select stratum, value, count(*) as sampled
    from kinds_of_papers
    where paper_id in (select paper_id from sample)
    group by stratum, value
)
select z.stratum, z.value, z.sampled, coalesce(m.title, g.metric) as title, s.candidate, s.papers, s.score, s.high
from sizes z
left join strata s using (stratum, value)
join signatures_shown w using (signature_id)
join signatures g using (signature_id)
left join metrics m on m.metric = g.metric
order by z.stratum <> 'PDF version', z.stratum, z.sampled desc, z.value, w.place, s.kind <> 'human', s.score desc, s.candidate;

-- name: outcomes
-- one row per board shown, state and reason: the number of such pairs, their candidates, and one message
select
    coalesce(m.title, g.metric) as title,
    p.state,
    case when p.state <> 'scored' then coalesce(p.reason, 'not tried yet') end as reason,
    count(*) as pairs,
    list_sort(list(distinct p.candidate_id)) as candidates,
    min(p.message) filter (p.state <> 'scored') as example
from pairs p
join signatures_shown w using (signature_id)
join signatures g using (signature_id)
join candidates c using (candidate_id)
left join metrics m on m.metric = g.metric
where c.kind not in ('change', 'graded')
group by w.place, m.title, g.metric, p.state, case when p.state <> 'scored' then coalesce(p.reason, 'not tried yet') end
order by w.place, p.state <> 'scored', p.state, pairs desc, reason;

-- name: pair_values
-- one row per scored pair of the boards shown
select w.place, p.signature_id, p.candidate_id as candidate, p.paper_id, p.reference_id, p.value
from pairs p
join signatures_shown w using (signature_id)
join candidates c using (candidate_id)
where c.kind not in ('change', 'graded') and p.state = 'scored'
order by w.place, p.candidate_id, p.paper_id, p.reference_id;

-- name: paper_pairs
-- one row per pair of the boards shown on the papers $papers, paper by paper: its score and its gains
-- gains: how much the candidate's review added to the log-probability of each token of the reference (in tenths of a
-- nat, joined by commas)
-- Only the spans of these papers are joined, because a join holds all rows of one side in memory.
with shown as materialized (
    select p.*, w.place, w.lm_id, c.kind, g.metric like 'gem%' as by_spans, s.predictions
    from pairs p
    join signatures_shown w using (signature_id)
    join signatures g using (signature_id)
    join candidates c using (candidate_id)
    left join scores s using (signature_id, paper_id, candidate_id, reference_id)
    where c.kind not in ('change', 'graded') and p.paper_id in (select unnest($papers::varchar[]))
),
own_spans as materialized (
    select lm_id, prediction, logprobs
    from spans
    where prediction in (select unnest(predictions) from shown where by_spans)
)
select
    p.paper_id,
    p.signature_id,
    p.place,
    p.candidate_id,
    p.kind,
    p.reference_id,
    p.state,
    p.reason,
    p.value,
    case when p.state = 'scored' and len(p.predictions) = 2 and p.predictions[1] <> p.predictions[2] then array_to_string(list_transform(
        list_zip(a.logprobs, b.logprobs), lambda pair: round(10 * (pair[1] - pair[2]))::integer), ',') end as gains
from shown p
left join own_spans a on p.by_spans and a.lm_id = p.lm_id and a.prediction = p.predictions[1]
left join own_spans b on p.by_spans and b.lm_id = p.lm_id and b.prediction = p.predictions[2]
order by p.paper_id, p.place, p.kind <> 'human', p.kind = 'control', p.candidate_id, p.reference_id;

-- name: paper_pieces
-- one row per signature and reference of the papers $papers whose text may be shown: the text, one piece per token
select p.signature_id, p.reference_id, p.pieces
from pieces p
join reviews r on r.review_id = p.reference_id
where r.paper_id in (select unnest($papers::varchar[]));

-- name: paper_reviews
-- one row per review of the papers $papers and writer of the boards shown, if its text or its judgments are public here
select r.paper_id, r.review_id, r.candidate, c.kind, s.role, r.text as review, j.writer, j.text as judgments
from reviews r
join candidates c on c.candidate_id = r.candidate
left join sample s using (paper_id, review_id)
left join judgments j on j.review_id = r.review_id and j.text is not null
    and j.writer in (select writer from signatures join signatures_shown using (signature_id))
where coalesce(r.text, j.text) is not null and c.kind not in ('change', 'graded')
    and (r.candidate <> 'human' or s.role is not null) and r.paper_id in (select unnest($papers::varchar[]))
order by r.paper_id, c.kind <> 'human', c.kind = 'control', s.role is distinct from 'candidate', r.candidate, r.review_id,
    j.writer;

-- name: paper_means
-- one row per signature shown, model and paper: the mean score of its pairs, their number and references, and the review
select
    p.signature_id,
    s.metric,
    p.candidate_id,
    p.paper_id,
    avg(p.value order by p.value) as score,
    count(*) as pairs,
    list(p.reference_id order by p.reference_id) as "references",
    any_value(r.review_id) as review_id
from pairs p
join signatures_shown using (signature_id)
join signatures s using (signature_id)
join candidates c using (candidate_id)
left join reviews r on r.candidate = p.candidate_id and r.paper_id = p.paper_id
where p.state = 'scored' and c.kind = 'model'
group by all
order by p.signature_id, p.candidate_id, p.paper_id;

-- name: papers
-- one row per paper of the boards shown: the number of scored pairs, and the human baseline's score on the first board
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
    select paper_id, avg(value order by value) as human
    from shown
    where place = (select min(place) from signatures_shown) and state = 'scored' and kind = 'human'
    group by all
)
select c.*, t.human, p.title, p.abstract
from counts c
left join first_board t using (paper_id)
left join papers p using (paper_id)
order by c.paper_id;

-- name: rights
-- one row per kind of text, candidate and licence: how many texts there are, and how many are published
-- titles: how many papers have a published title; the publisher's own papers have one even if their texts are withheld
-- Judgments have the licence of their review, synopses that of their paper.
with papers_known as materialized (  -- a join would hold the texts in memory
    select
        paper_id,
        title,
        licence,
        (abstract is not null or abstract_sha256 is null) and (text is not null or text_sha256 is null) as whole
    from papers
)
select
    'papers' as texts, null as candidate, licence, count(*) as known,
    count(title) filter (
        whole and paper_id not in (select t.paper_id from texts t where t.text is null and t.text_sha256 is not null)
    ) as shown,
    count(title) as titles
from papers_known
where paper_id in (select paper_id from sample)
group by all
union all
select 'reviews', r.candidate, r.licence, count(*), count(*) filter (r.text is not null or j.review_id is not null), null
from reviews r
left join candidates c on c.candidate_id = r.candidate
left join (select distinct review_id from judgments where text is not null) j on j.review_id = r.review_id
where r.paper_id in (select paper_id from sample) and coalesce(c.kind, '') <> 'change'
    and (r.candidate <> 'human' or r.review_id in (select review_id from sample))
group by all
order by texts, candidate <> 'human', candidate, known desc, licence;

-- name: signatures
-- one row per signature shown, with the results of its validation and its AUC (separation)
select s.*, w.place, a.auc, a.low as auc_low, a.high as auc_high, a.left_out as auc_left_out, a.same, a.other,
    v.verdict, v.edition as validated_on, v.detail
from signatures s
join signatures_shown w using (signature_id)
left join separation a using (signature_id)
left join validations v using (signature_id)
order by w.place;

-- name: withheld
-- one row: how many reviews of the boards' candidates have a text or judgments that are withheld
select count(distinct r.review_id) as reviews
from reviews r
join candidates c on c.candidate_id = r.candidate
left join judgments j using (review_id)
where c.kind not in ('change', 'graded')
  and ((r.text is null and r.text_sha256 is not null) or (j.text is null and j.text_sha256 is not null));

-- name: score_terms
-- one row per score of one signature: the log-probabilities of its predictions, and whether each equals the sum over its
-- tokens
-- A release rounds the log-probabilities of tokens so that their sum differs by at most 1/512 nat.
with terms as (
    select *, unnest(predictions) as prediction, generate_subscripts(predictions, 1) as place
    from scores
    where signature_id = $signature_id and value is not null
)
select
    t.paper_id,
    t.candidate_id,
    t.reference_id,
    min(t.value) as value,
    list(p.total order by t.place) as totals,
    bool_and(abs(p.total - list_sum(p.logprobs)) <= 1e-5 * greatest(abs(p.total), 1) + 1.0 / 512) as summed
from terms t
left join spans p on p.lm_id = $lm_id and p.prediction = t.prediction
group by all
order by all;
