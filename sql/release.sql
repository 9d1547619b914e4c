-- name: tables_there
-- one row per table of the edition that is being published
select table_name from duckdb_tables() where database_name = 'edition';

-- name: tables_here
-- one row per table of the release itself
select table_name
from duckdb_tables()
where database_name = current_database() and not temporary
order by table_name;

-- name: this_database
-- one row: the name of the database that is open
select current_database();

-- name: unpacked
-- one row: the number of values in the Parquet files, and the bytes of their pages after decompression
select
    sum(greatest(num_values, row_group_num_rows)) as value_count,
    sum(total_uncompressed_size) as page_bytes
from parquet_metadata($files);

-- name: paper_licences
-- one row per paper: the licence of its texts that its note or its import states; both if these differ; null: unknown
create temp table paper_licences as
select p.paper_id, nullif(concat_ws(', ', n.licence, nullif(l.licence, n.licence)), '') as licence
from edition.papers p
left join edition.paper_sources n using (paper_id)
left join edition.licences l on l.kind = 'paper' and l.item = p.paper_id;

-- name: review_licences
-- one row per review: the licence of its text and of its judgments; null: unknown
-- The licence is stated by the note and by the import; if they differ, the row has both. A review that a model wrote for
-- this edition has the licence of the settings, $own. A control has the licence of the paper, whose sentences it copies.
-- A perturbed review has none.
create temp table review_licences as
select
    r.review_id,
    case
        when c.kind = 'control' then p.licence
        when c.kind = 'change' then null
        else coalesce(
            nullif(concat_ws(', ', n.licence, nullif(l.licence, n.licence)), ''),
            case when c.kind = 'model' and w.item is not null then $own::varchar end
        )
    end as licence
from edition.reviews r
left join edition.candidates c on c.candidate_id = r.candidate
left join edition.review_versions n using (review_id)
left join edition.licences l on l.kind = 'review' and l.item = r.review_id
left join paper_licences p on p.paper_id = r.paper_id
left join (
    select distinct item from edition.replies where task = 'review' and outcome = 'ok'
) w on w.item = r.review_id;

-- name: licences_told
-- one row per licence of a paper or a review
select licence from paper_licences where licence is not null
union
select licence from review_licences where licence is not null
order by licence;

-- name: add_free_licences
-- one row per licence under which texts are published; null: texts without a stated licence are published too
create temp table free_licences as select unnest($licences::varchar[]) as licence;

-- name: public_papers
-- one row per paper whose texts may be redistributed
select p.paper_id
from paper_licences p
where exists (select 1 from free_licences f where f.licence is not distinct from p.licence);

-- name: public_reviews
-- one row per review whose text and judgments may be redistributed
select r.review_id
from review_licences r
where exists (select 1 from free_licences f where f.licence is not distinct from r.licence);

-- name: own_titles
-- one row per paper whose title is published whatever its licence, because the paper comes from the publisher's own
-- files, not from a note
-- A title is a bibliographic fact, and a reader needs it to find the paper. $told: false if no text at all is published.
select a.item as paper_id
from edition.additions a
join edition.imports i using (run_id, file)
where $told and a.kind = 'paper' and i.kind = 'papers' and a.item not in (select paper_id from edition.paper_sources);

-- name: public_replies
-- one row per prediction whose reply may be redistributed; for GEM, the reply is the reference
select distinct unnest(s.predictions) as prediction
from edition.scores s
join edition.signatures g using (signature_id)
where (
    g.metric like 'gem%' and s.reference_id in (select review_id from public_reviews)
) or exists (select 1 from free_licences where licence is null);

-- name: papers_to_publish
-- the ids of all known papers, in order
select paper_id from edition.papers
union
select paper_id from edition.texts
order by paper_id;

-- name: papers
-- one row per known paper from $first to $last: its texts if the licence allows it, else only their SHA-256; papers in
-- own_titles always have their title
select
    p.paper_id,
    case when u.paper_id is not null or p.paper_id in (from own_titles) then p.title end as title,
    case when u.paper_id is not null then p.abstract end as abstract,
    case when u.paper_id is not null then p.text end as text,
    sha256(p.title) as title_sha256,
    sha256(p.abstract) as abstract_sha256,
    sha256(p.text) as text_sha256,
    p.source_row,
    l.licence
from edition.papers p
join paper_licences l using (paper_id)
left join public_papers u using (paper_id)
where p.paper_id between $first and $last
order by p.paper_id;

-- name: reviews
-- one row per known review: its text if the licence allows it, else only its SHA-256
select
    r.* replace (case when u.review_id is not null then r.text end as text),
    sha256(r.text) as text_sha256,
    l.licence
from edition.reviews r
join review_licences l using (review_id)
left join public_reviews u using (review_id)
order by r.review_id;

-- name: judgments
-- one row per review and writer: judgments are public if the review is public
select
    j.review_id,
    j.writer,
    case when u.review_id is not null then j.text end as text,
    sha256(j.text) as text_sha256,
    j.lines,
    j.strays
from edition.judgments j
left join public_reviews u using (review_id)
where j.review_id in (select review_id from edition.reviews)  -- judgments of labelled points are not published
order by j.review_id, j.writer;

-- name: snapshots
-- one row per snapshot of notes and PDFs that was imported
select digest, parse_filename(path) as path from edition.snapshots order by all;

-- name: review_versions
-- one row per human review of a fetched snapshot
from edition.review_versions order by review_id;

-- name: paper_sources
-- one row per paper of a fetched snapshot
from edition.paper_sources order by paper_id;

-- name: texts
-- one row per sampled paper from $first to $last whose text was read from a snapshot; notes may quote the paper, so
-- they are treated as its text
select
    t.paper_id,
    t.origin,
    t.sha256,
    t.status,
    t.pages,
    case when u.paper_id is not null then t.abstract end as abstract,
    case when u.paper_id is not null then t.text end as text,
    sha256(t.text) as text_sha256,
    case when u.paper_id is not null then t.notes end as notes
from edition.texts t
left join public_papers u using (paper_id)
where t.paper_id between $first and $last
order by t.paper_id;

-- name: synopses
-- one row per paper, kind and writer: a synopsis is public if the paper is public
select
    s.paper_id,
    s.kind,
    s.writer,
    case when u.paper_id is not null then s.text end as text,
    sha256(s.text) as text_sha256
from edition.synopses s
left join public_papers u using (paper_id)
order by all;

-- name: replies
-- one row per requested text; details may quote it or name an endpoint, so they are not published
select * exclude (run_id) replace (null::varchar as detail) from edition.replies order by task, item, writer;

-- name: plan
-- one row per planned pair; details are not published
select * exclude (run_id) replace (null::varchar as detail)
from edition.plan
order by signature_id, paper_id, candidate_id, reference_id;

-- name: spans
-- one row per evaluation LM and prediction; token ids reveal the reply, so they are published only if the reply is
-- public
-- Log-probabilities are rounded to multiples of 1/256 nat, which take half the space. Some are rounded the other way, so
-- that the sum stays close: a token differs by less than 1/256 nat, and the sum by at most 1/512 nat.
with rounded as (
    select *, list_transform(logprobs, lambda x: {
        'steps': round(256 * x), 'rest': sign(256 * x - round(256 * x))
    }) as parts
    from edition.spans
),
summed as (
    select *, round(256 * list_sum(logprobs)) - list_sum(list_transform(parts, lambda p: p.steps)) as owed
    from rounded
),
placed as (
    select *, list_filter(
        list_transform(parts, lambda p, i: case when p.rest = sign(owed) then i end), lambda i: i is not null
    )[abs(owed)::integer] as last
    from summed
)
select
    s.lm_id,
    s.prediction,
    s.total,
    case when u.prediction is not null then s.ids end as ids,
    list_transform(s.parts, lambda p, i: (
        (p.steps + case when i <= s.last and p.rest = sign(s.owed) then p.rest else 0 end) / 256
    )::float) as logprobs,
    s.escaped
from placed s
left join public_replies u using (prediction)
order by s.lm_id, s.prediction;

-- name: scores
-- one row per finished pair; messages are not published
select * exclude (run_id) replace (null::varchar as problem_message)
from edition.scores
order by signature_id, paper_id, candidate_id, reference_id;

-- name: problems
-- one row per pair without a score that had a transient problem: the last problem; messages and times are not published
select
    signature_id,
    paper_id,
    candidate_id,
    reference_id,
    arg_max(problem, (happened_at, problem)) as problem,
    null::varchar as message,
    null::timestamptz as happened_at
from edition.problems
anti join edition.scores using (signature_id, paper_id, candidate_id, reference_id)
group by all
order by all;

-- name: make_metrics
-- one row per metric: its names on the page
create table metrics (metric varchar, title varchar, unit varchar, place integer);

-- name: make_models
-- one row per model of a candidate: the known facts about it; null means unknown. entry: its name in the models file
create table models (
    model varchar, entry varchar, family varchar, parameters double, knowledge_cutoff date, released date, price_in double, price_out double
);

-- name: make_changes
-- one row per change (perturbation) of reviews with which metrics are validated
create table changes (change varchar, title varchar, family varchar);

-- name: make_signatures_shown
-- one row per signature whose board the page shows; lm_id: the evaluation LM of its spans
create table signatures_shown (signature_id varchar, place integer, lm_id varchar);

-- name: make_word_counts
-- one row per text that a metric reads: its number of words
create table word_counts (
    candidate_id varchar, paper_id varchar, source varchar, writer varchar, form varchar, cut integer, words integer
);

-- name: shown_references
-- one row per signature shown and reference with a public text: that text, and the ids of its tokens
select distinct on (g.signature_id, s.reference_id)
    g.signature_id,
    s.reference_id,
    g.form,
    g.ascii_fold,
    j.text,
    p.ids
from signatures_shown w
join signatures g using (signature_id)
join scores s using (signature_id)
join judgments j on j.review_id = s.reference_id and j.writer = g.writer and j.text is not null
join spans p on p.lm_id = w.lm_id and p.prediction = s.predictions[1] and p.ids is not null
where g.metric like 'gem%' and s.value is not null
order by g.signature_id, s.reference_id, s.candidate_id;

-- name: make_pieces
-- one row per signature and reference that may be shown: its text, split into the tokens of the evaluation LM
create table pieces (signature_id varchar, reference_id varchar, pieces varchar[]);

-- name: judgment_kinds
-- one row per candidate and writer: how many of its judgments have each opening that *openings* lists
-- Of the human reviews, only the baseline is counted. These numbers are public even if the texts are not.
with lines as (
    select
        r.candidate,
        j.writer,
        r.review_id,
        regexp_replace(trim(unnest(string_split(j.text, chr(10)))), '^([-*•]\s*|\d+[.)]\s*)', '') as line
    from edition.judgments j
    join edition.reviews r using (review_id)
    join edition.candidates c on c.candidate_id = r.candidate
    left join edition.sample s on s.review_id = r.review_id and s.role = 'candidate'
    where c.kind not in ('change', 'graded') and (r.candidate <> 'human' or s.role is not null)
)
select
    candidate,
    writer,
    count(distinct review_id) as reviews,
    $openings::varchar[] as openings,
    list_transform($openings::varchar[], lambda opening: len(list_filter(
        list(line), lambda line: starts_with(line, opening)))) as lines
from lines
group by candidate, writer
order by candidate, writer;

-- name: rows_that_differ
-- one row if the temporary views mine and theirs differ; else none
(from mine except all from theirs)
union all
(from theirs except all from mine)
limit 1;

-- name: run_of_a_release
-- adds one run to an edition that is loaded from a release: the release's name, date, settings and program
insert into runs (run_id, command, started_at, ended_at, outcome, settings, code_version)
values ($name, 'refresh', $at, $at, 'done', $settings, $version);

-- name: plan_of_others
-- assigns pairs under signatures that have no board in the release to a run before the release's own
-- Pairs of the specific form of a shown metric are excepted, because they give the scores above chance.
update plan
set run_id = $other
where signature_id not in (
    select own.signature_id
    from signatures own
    join signatures shown using (
        prompt_sha256, evaluation_lm, lm_digest, dtype, quantisation, attention, template_digest, writer, synopsis_writer,
        form, text_cut, ascii_fold, engine_version
    )
    where shown.signature_id in (select signature_id from read_parquet($shown))
      and own.metric in (shown.metric, shown.metric || '_specific')
);

-- name: run_of_others
-- adds the run to which plan_of_others assigns pairs, if there are any
insert into runs (run_id, command, started_at, ended_at, outcome, settings, code_version)
select $name, 'refresh', $at::timestamptz - interval 1 second, $at, 'done', $settings, $version
where exists (select 1 from plan where run_id = $name);
