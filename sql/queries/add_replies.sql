-- records what became of texts that were asked for
insert or replace into replies (
    task, item, writer, outcome, detail, final, thinking, prompt_tokens, reply_tokens, archived, run_id
)
select unnest($task::varchar[]), unnest($item::varchar[]), unnest($writer::varchar[]), unnest($outcome::varchar[]),
       unnest($detail::varchar[]), unnest($final::boolean[]), unnest($thinking::integer[]),
       unnest($prompt_tokens::integer[]), unnest($reply_tokens::integer[]), unnest($archived::boolean[]),
       unnest($run_id::varchar[]);
