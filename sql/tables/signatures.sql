-- one row per signature: all that a score depends on besides its texts
create table if not exists signatures (
    signature_id    varchar primary key,
    metric          varchar not null,
    prompt_sha256   varchar not null,
    evaluation_lm   varchar not null,
    lm_digest       varchar not null,
    dtype           varchar not null,
    quantisation    varchar not null,
    attention       varchar not null,
    template_digest varchar not null,
    writer          varchar not null,
    synopsis_writer varchar not null,
    form            varchar not null,
    text_cut        varchar not null,
    ascii_fold      boolean not null,
    engine_version  varchar not null,
    chance          varchar default 'none'  -- how reviews of other papers are chosen, where the metric reads any
);
