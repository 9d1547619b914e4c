-- in this folder: duckdb -init views.sql
create or replace view agreements as from 'tables/agreements.parquet';
create or replace view board as from 'tables/board.parquet';
create or replace view candidates as from 'tables/candidates.parquet';
create or replace view chance as from 'tables/chance.parquet';
create or replace view changes as from 'tables/changes.parquet';
create or replace view committees as from 'tables/committees.parquet';
create or replace view differences as from 'tables/differences.parquet';
create or replace view draws as from 'tables/draws.parquet';
create or replace view effects as from 'tables/effects.parquet';
create or replace view exposures as from 'tables/exposures.parquet';
create or replace view judgment_kinds as from 'tables/judgment_kinds.parquet';
create or replace view judgments as from 'tables/judgments.parquet';
create or replace view lengths as from 'tables/lengths.parquet';
create or replace view licences as from 'tables/licences.parquet';
create or replace view meta as from 'tables/meta.parquet';
create or replace view metrics as from 'tables/metrics.parquet';
create or replace view models as from 'tables/models.parquet';
create or replace view moved as from 'tables/moved.parquet';
create or replace view pair_tests as from 'tables/pair_tests.parquet';
create or replace view paper_sources as from 'tables/paper_sources.parquet';
create or replace view paper_strata as from 'tables/paper_strata.parquet';
create or replace view papers as from 'tables/papers.parquet';
create or replace view pieces as from 'tables/pieces.parquet';
create or replace view plan as from 'tables/plan.parquet';
create or replace view problems as from 'tables/problems.parquet';
create or replace view profiles as from 'tables/profiles.parquet';
create or replace view rank_statistics as from 'tables/rank_statistics.parquet';
create or replace view replies as from 'tables/replies.parquet';
create or replace view review_versions as from 'tables/review_versions.parquet';
create or replace view reviews as from 'tables/reviews.parquet';
create or replace view sample as from 'tables/sample.parquet';
create or replace view scores as from 'tables/scores.parquet';
create or replace view separation as from 'tables/separation.parquet';
create or replace view signatures as from 'tables/signatures.parquet';
create or replace view signatures_shown as from 'tables/signatures_shown.parquet';
create or replace view snapshots as from 'tables/snapshots.parquet';
create or replace view spans as from 'tables/spans.parquet';
create or replace view stand_ins as from 'tables/stand_ins.parquet';
create or replace view strata as from 'tables/strata.parquet';
create or replace view student_t as from 'tables/student_t.parquet';
create or replace view synopses as from 'tables/synopses.parquet';
create or replace view text_words as from 'tables/text_words.parquet';
create or replace view texts as from 'tables/texts.parquet';
create or replace view validations as from 'tables/validations.parquet';
create or replace view word_counts as from 'tables/word_counts.parquet';

-- macro: the share of the distinct words of a review that its judgments keep; null if the review has no words
create or replace macro distinct_words(text) as
    list_distinct(regexp_extract_all(lower(text), '[a-z0-9][a-z0-9-]+'));

create or replace macro words_kept(review, judgments) as
    len(list_intersect(distinct_words(review), distinct_words(judgments)))
    / nullif(len(distinct_words(review)), 0);
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
-- one row per signature: how many of its planned pairs are in which state
create or replace view progress as
select
    signature_id,
    s.metric,
    count(*) as planned,
    count(*) filter (state = 'scored') as scored,
    count(*) filter (state = 'failed') as failed,
    count(*) filter (state = 'excluded') as excluded,
    count(*) filter (state = 'missing') as missing
from pairs
join signatures s using (signature_id)
group by all;
-- one row per signature and candidate of the board that ranks no contaminated candidate: see board, which has both
-- Forms of metrics above chance, such as gem_specific, are in chance_corrected: first by score is first on the board.
create or replace view leaderboard as
select b.* exclude (board)
from board b
join signatures s using (signature_id)
where b.board = 'clean' and s.chance = 'none';
-- one row per signature and candidate of the forms of metrics above chance, such as gem_specific, like those of leaderboard
create or replace view chance_corrected as
select b.* exclude (board)
from board b
join signatures s using (signature_id)
where b.board = 'clean' and s.chance <> 'none';
