-- sets lengths and costs of the candidates of one signature
insert or replace into profiles (
    signature_id, candidate_id, words, human_words, at_length, at_length_low, at_length_high, asked, unusable, judged,
    unparsable, lines, strays, median_lines, human_lines, covered, prompt_tokens, reply_tokens, usd, conflict, run_id
)
select unnest($signature_id::varchar[]), unnest($candidate_id::varchar[]), unnest($words::double[]),
       unnest($human_words::double[]), unnest($at_length::double[]), unnest($at_length_low::double[]),
       unnest($at_length_high::double[]), unnest($asked::integer[]), unnest($unusable::integer[]),
       unnest($judged::integer[]), unnest($unparsable::integer[]), unnest($lines::integer[]),
       unnest($strays::integer[]), unnest($median_lines::double[]), unnest($human_lines::double[]),
       unnest($covered::double[]), unnest($prompt_tokens::bigint[]), unnest($reply_tokens::bigint[]),
       unnest($usd::double[]), unnest($conflict::varchar[]), unnest($run_id::varchar[]);
