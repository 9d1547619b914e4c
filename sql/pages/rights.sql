-- one row per kind of text and licence that its note states: how many there are, and of how many the words are here
select 'papers' as texts, s.licence, count(*) as known, count(p.title) as shown
from papers p
left join paper_sources s using (paper_id)
where p.paper_id in (select paper_id from sample)
group by all
union all
select 'human reviews', v.licence, count(*), count(r.text)
from reviews r
left join review_versions v using (review_id)
where r.candidate = 'human' and r.review_id in (select review_id from sample)
group by all
order by texts desc, known desc, licence;
