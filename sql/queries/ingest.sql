-- name: papers
-- one row per known paper
select paper_id, title, abstract, text, source_row
from papers
order by paper_id;

-- name: add_papers
-- adds or fills in papers
insert or replace into papers by name from incoming;

-- name: reviews
-- one row per known review
select review_id, paper_id, candidate, text, slot, rating, grade
from reviews
order by review_id;

-- name: add_reviews
-- adds or fills in reviews
insert or replace into reviews by name from incoming;

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

-- name: add_paper_sources
-- adds or replaces the source of each paper's PDF
insert or replace into paper_sources by name from incoming;

-- name: add_paper_strata
-- adds or replaces the strata of papers
insert or replace into paper_strata by name from incoming;

-- name: add_review_versions
-- adds or replaces the version of each review that counts
insert or replace into review_versions by name from incoming;

-- name: texts
-- one row per paper whose text was read from a snapshot
select paper_id, origin, sha256, status, pages, abstract, text, notes
from texts
order by paper_id;

-- name: add_texts
-- adds texts read from a snapshot
insert or replace into texts by name from incoming;

-- name: text_states
-- one row per paper whose text was read from a snapshot: the outcome of the reading, papers without text first
-- Words are null if no counts are known: for papers without text, or read by an earlier version of the program.
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
-- one row per paper, page and fate of words there
select paper_id, page, fate, words
from text_words
order by paper_id, page, words desc, fate;

-- name: add_text_words
-- adds the fates of the words of each page
insert into text_words by name from incoming;

-- name: forget_text_words
-- deletes the fates of the words of some papers, which were read again
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

-- name: add_licences
-- adds or replaces the licence of papers or reviews, as stated at their import
insert or replace into licences by name from incoming;

-- name: forget_licences
-- deletes the licence of papers or reviews, which an import calls unknown
delete from licences where kind = $kind and item in (select unnest($item::varchar[]));

-- name: add_import
-- adds one imported file as the latest, whatever the clock says
insert into imports (run_id, file, sha256, kind, added, unchanged, refused, domain, happened_at)
values (
    $run_id, $file, $sha256, $kind, $added, $unchanged, $refused, $domain,
    greatest($happened_at, (select coalesce(max(happened_at) + interval 1 microsecond, $happened_at) from imports))
);
