-- one row per text that was asked for: what became of it (the last attempt)
create table if not exists replies (
    task          varchar not null check (task in ('review', 'judgments', 'assw')),
    item          varchar not null,      -- review_id, or paper_id for assw
    writer        varchar not null,
    outcome       varchar not null,      -- ok, or why there is no text
    detail        varchar not null,
    final         boolean not null,      -- a problem that trying again cannot mend
    thinking      integer not null,      -- characters of thinking stripped
    prompt_tokens integer,
    reply_tokens  integer,
    archived      boolean not null,      -- answered by the reply archive
    run_id        varchar not null,
    primary key (task, item, writer)
);
