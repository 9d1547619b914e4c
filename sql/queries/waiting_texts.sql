-- one row per reason for which pairs of a candidate wait for a text: how many papers, and what was said of one
select reason, count(distinct paper_id) as papers, coalesce(min(detail), reason) as detail
from plan
where state = 'waiting' and candidate_id in (select unnest($candidates::varchar[]))
  and signature_id in (select unnest($signature_ids::varchar[]))
group by reason
order by papers desc, reason;
