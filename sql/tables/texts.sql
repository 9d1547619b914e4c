-- one row per sampled paper whose text was read from a snapshot: where it came from and how that went
create table if not exists texts (
    paper_id varchar primary key,
    origin   varchar not null check (origin in ('pdf', 'given')),
    sha256   varchar not null,           -- of the PDF, or of the given text
    status   varchar not null,           -- ok, or why the text is missing or doubtful
    pages    integer,
    abstract varchar,                    -- as found in the PDF
    text     varchar,                    -- body without references and appendices
    notes    varchar[] not null
);
