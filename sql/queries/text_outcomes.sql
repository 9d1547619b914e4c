-- one row per task, writer and outcome of the texts that were asked for; a text cut at the token limit counts as cut
select
    task,
    writer,
    case when outcome = 'ok' and detail = 'cut at the token limit' then 'cut' else outcome end as outcome,
    count(*) as texts,
    count(*) filter (where not final) as to_be_asked_again,
    count(*) filter (where archived) as from_the_archive,
    sum(prompt_tokens)::bigint as prompt_tokens,
    sum(reply_tokens)::bigint as reply_tokens
from replies
group by all
order by task, writer, texts desc, outcome;
