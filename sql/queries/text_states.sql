-- one row per paper whose text was read from a snapshot: what became of the reading, papers without text first
-- Words are null for papers of which no counts are known: those without text, or read by an earlier program.
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
