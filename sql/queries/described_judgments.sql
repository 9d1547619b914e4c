-- one row per candidate of the reviews given: how many have judgments, their median of lines, and the words that they keep
select
    candidate_id,
    count(*) as reviews,
    count(*) filter (lines > 0) as judged,
    median(lines) filter (lines > 0) as median_lines,
    avg(words_kept(review, judgments)) filter (lines > 0) as covered,
    arg_max(review_id, lines) as longest_id
from (
    select
        unnest($candidate_id::varchar[]) as candidate_id,
        unnest($review_id::varchar[]) as review_id,
        unnest($review::varchar[]) as review,
        unnest($judgments::varchar[]) as judgments,
        unnest($lines::integer[]) as lines
)
group by all
order by candidate_id;
