-- adds where each paper's PDF is from; what is known already is told anew
insert or replace into paper_sources (paper_id, pdf_sha256, pdf_problem, pdf_version_status, licence)
select unnest($paper_id::varchar[]), unnest($pdf_sha256::varchar[]), unnest($pdf_problem::varchar[]),
       unnest($pdf_version_status::varchar[]), unnest($licence::varchar[]);
