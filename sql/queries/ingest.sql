-- name: papers
-- one row per known paper, or per paper of $ids; bodies, which take up most of a store, are left out unless $bodies is
-- true
select paper_id, title, abstract, case when $bodies then text end as text, source_row
from papers
where $ids::varchar[] is null or paper_id in (select unnest($ids::varchar[]))
order by paper_id;

-- name: unread
-- ids of the papers that have no body
select p.paper_id
from papers p
left join texts t using (paper_id)
where coalesce(nullif(t.text, ''), nullif(p.text, '')) is null;

-- name: reviews
-- one row per known review, or per review of $papers; texts are left out unless $texts is true
select review_id, paper_id, candidate, case when $texts then text end as text, slot, rating, grade
from reviews
where $papers::varchar[] is null or paper_id in (select unnest($papers::varchar[]))
order by review_id;

-- name: snapshot
-- at most one row: the snapshot imported last
select digest, path
from snapshots
order by imported_at desc
limit 1;

-- name: add_snapshot
-- records an imported snapshot as the latest, whatever the clock says
insert or replace into snapshots (digest, path, imported_at) values (
    $digest, $path,
    greatest($imported_at, (select coalesce(max(imported_at) + interval 1 microsecond, $imported_at) from snapshots))
);

-- name: texts
-- one row per paper whose text was read from a snapshot; $ids, $bodies: as in the query papers
select paper_id, origin, sha256, status, pages, abstract, case when $bodies then text end as text, notes
from texts
where $ids::varchar[] is null or paper_id in (select unnest($ids::varchar[]))
order by paper_id;

-- name: name_untitled
-- gives papers without a title the incoming one, which was read from the PDF
update papers set title = i.title from incoming i where papers.paper_id = i.paper_id and trim(papers.title) = '';

-- name: text_states
-- one row per paper whose text was read from a snapshot: the outcome of the reading; papers without text come first
-- The numbers of words are null if unknown: for papers without text, and papers that an earlier version of the program
-- read.
with counted as (
    select
        paper_id,
        sum(words)::integer as words,
        coalesce(sum(words) filter (fate = 'kept'), 0)::integer as kept,
        coalesce(sum(words) filter (fate = 'hidden'), 0)::integer as hidden
    from text_words
    group by paper_id
)
select
    t.paper_id,
    t.origin,
    t.status,
    t.pages,
    coalesce(length(t.text), 0) as characters,
    c.words,
    c.kept,
    c.hidden,
    c.words - c.kept - c.hidden as dropped,
    t.notes
from texts t
left join counted c using (paper_id)
order by t.text is not null, t.status, t.paper_id;

-- name: text_words
-- one row per paper, page and fate of words: how many words on the page have this fate
from text_words
order by paper_id, page, words desc, fate;

-- name: forget_text_words
-- deletes the fates of the words of papers that were read again
delete from text_words where paper_id in (select unnest($paper_id::varchar[]));

-- name: imported_domain
-- at most one row: what is reviewed, as stated by the latest imported file that states it
select domain
from imports
where domain is not null
order by happened_at desc
limit 1;

-- name: imported_files
-- one row per imported file: its name and its contents in numbers
select distinct parse_filename(file) as file, sha256, kind from imports order by all;

-- name: forget_licences
-- deletes the licences of papers or reviews whose licence an import calls unknown
delete from licences where kind = $kind and item in (select unnest($item::varchar[]));

-- name: add_import
-- adds one imported file as the latest, whatever the clock says
insert into imports (run_id, file, sha256, kind, added, unchanged, refused, domain, happened_at)
values (
    $run_id, $file, $sha256, $kind, $added, $unchanged, $refused, $domain,
    greatest($happened_at, (select coalesce(max(happened_at) + interval 1 microsecond, $happened_at) from imports))
);

-- name: note_additions
-- records which import added the incoming papers, reviews and judgments; papers and reviews that already exist keep
-- their record
insert or replace into additions by name
select *
from incoming
where (kind <> 'paper' or item not in (select paper_id from papers))
  and (kind <> 'review' or item not in (select review_id from reviews));

-- name: points
-- one row per labelled point, in the order of papers, reviews and places
select point_id, paper_id, review_id, candidate, text, place, labels
from points
order by paper_id, review_id nulls last, candidate, place;

-- name: imports
-- one row per imported file, the earliest first: its number, how many of its rows added a record, how many of the
-- records that it added still exist, and the candidates that wrote these reviews
with left_over as (
    select
        a.run_id,
        a.file,
        a.kind,
        count(coalesce(p.paper_id, r.review_id, j.review_id)) as records,
        list(distinct r.candidate order by r.candidate) filter (r.candidate is not null) as candidates
    from additions a
    left join papers p on a.kind = 'paper' and p.paper_id = a.item
    left join reviews r on a.kind = 'review' and r.review_id = a.item
    left join judgments j on a.kind = 'judgments' and j.review_id = a.item and j.writer = a.writer
    group by all
)
select
    row_number() over (order by i.happened_at) as number,
    i.run_id,
    i.file,
    i.happened_at,
    i.added,
    coalesce(max(l.records) filter (l.kind = 'paper'), 0) as papers,
    coalesce(max(l.records) filter (l.kind = 'review'), 0) as reviews,
    coalesce(max(l.records) filter (l.kind = 'judgments'), 0) as judgments,
    coalesce((select count(*) from points p where p.run_id = i.run_id), 0) as points,
    coalesce(max(l.candidates) filter (l.kind = 'review'), []) as candidates
from imports i
left join left_over l using (run_id, file)
group by i.run_id, i.file, i.happened_at, i.added
order by number;

-- name: name_undone
-- sets the imported file that undo_import undoes
set variable undone = {'run_id': $run_id, 'file': $file};

-- name: undone_candidates
-- one row per candidate all of whose reviews were added by one import
select r.candidate
from reviews r
left join additions a
    on a.run_id = $run_id and a.file = $file
    and ((a.kind = 'review' and a.item = r.review_id) or (a.kind = 'paper' and a.item = r.paper_id))
where r.candidate <> 'human'
group by r.candidate
having bool_and(a.item is not null)
order by r.candidate;

-- name: undone_of_others
-- one row per candidate: how many of its reviews, which other imports added, are of papers that one import added
select r.candidate, count(*) as reviews
from reviews r
join additions p on p.run_id = $run_id and p.file = $file and p.kind = 'paper' and p.item = r.paper_id
left join additions a on a.run_id = $run_id and a.file = $file and a.kind = 'review' and a.item = r.review_id
where a.item is null
group by r.candidate
order by r.candidate;

-- name: undo_import
-- deletes the records that were added by the import that name_undone sets and still exist, with the scores that depend
-- on them
-- With a review by a candidate, that candidate's scores on the paper are deleted; with any other record, all scores on
-- the paper. If the sample contains such a paper, the sample and all plans are deleted. Token log-probabilities are
-- kept, because they contain no text.
create or replace temp table undone as
select kind, item, writer
from additions
where run_id = getvariable('undone').run_id and file = getvariable('undone').file;
create or replace temp table undone_reviews as
select review_id, paper_id, candidate
from reviews
where review_id in (select item from undone where kind = 'review')
   or paper_id in (select item from undone where kind = 'paper');
create or replace temp table undone_scores as
select paper_id, candidate as candidate_id from undone_reviews where candidate <> 'human'
union
select r.paper_id, r.candidate
from undone u join reviews r on r.review_id = u.item
where u.kind = 'judgments' and r.candidate <> 'human'
union
select m.paper_id, m.candidate_id from moved m where m.review_id in (select review_id from undone_reviews);
create or replace temp table undone_papers as
select paper_id from undone_reviews where candidate = 'human'
union
select item from undone where kind = 'paper'
union
select r.paper_id
from undone u join reviews r on r.review_id = u.item
where u.kind = 'judgments' and r.candidate = 'human';
delete from scores
where paper_id in (select paper_id from undone_papers)
   or (paper_id, candidate_id) in (select (paper_id, candidate_id) from undone_scores);
delete from stand_ins
where paper_id in (select paper_id from undone_papers)
   or (paper_id, candidate_id) in (select (paper_id, candidate_id) from undone_scores)
   or (paper_id, reference_by) in (select (paper_id, candidate_id) from undone_scores);
delete from committees where paper_id in (select paper_id from undone_papers union select paper_id from undone_scores);
delete from problems
where paper_id in (select paper_id from undone_papers)
   or (paper_id, candidate_id) in (select (paper_id, candidate_id) from undone_scores);
delete from plan
where exists (select 1 from sample s join undone_papers u using (paper_id))
   or (paper_id, candidate_id) in (select (paper_id, candidate_id) from undone_scores);
delete from draws where exists (select 1 from sample s join undone_papers u using (paper_id));
delete from sample where not exists (select 1 from draws);
delete from moved
where paper_id in (select paper_id from undone_papers) or review_id in (select review_id from undone_reviews);
delete from judgments
where review_id in (select review_id from undone_reviews)
   or (review_id, writer) in (select (item, writer) from undone where kind = 'judgments');
delete from review_versions where review_id in (select review_id from undone_reviews);
delete from licences
where (kind = 'review' and item in (select review_id from undone_reviews))
   or (kind = 'paper' and item in (select item from undone where kind = 'paper'));
delete from replies
where (task in ('review', 'judgments') and item in (select review_id from undone_reviews))
   or (task = 'assw' and item in (select item from undone where kind = 'paper'));
delete from paper_sources where paper_id in (select item from undone where kind = 'paper');
delete from paper_strata where paper_id in (select item from undone where kind = 'paper');
delete from texts where paper_id in (select item from undone where kind = 'paper');
delete from text_words where paper_id in (select item from undone where kind = 'paper');
delete from synopses where paper_id in (select item from undone where kind = 'paper');
delete from reviews where review_id in (select review_id from undone_reviews);
delete from papers where paper_id in (select item from undone where kind = 'paper');
create or replace temp table undone_points as
select point_id
from points
where run_id = getvariable('undone').run_id
   or paper_id in (select item from undone where kind = 'paper')
   or review_id in (select review_id from undone_reviews);
delete from replies where task = 'judgments' and item in (select 'point:' || point_id from undone_points);
delete from judgments where review_id in (select 'point:' || point_id from undone_points);
delete from points where point_id in (select point_id from undone_points);
delete from additions where run_id = getvariable('undone').run_id and file = getvariable('undone').file;
delete from rank_statistics;
delete from pair_tests;
delete from differences;
delete from chance;
