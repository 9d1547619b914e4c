-- one row per licence that some paper or review states
select licence from edition.paper_sources where licence is not null
union
select licence from edition.review_versions where licence is not null
order by licence;
