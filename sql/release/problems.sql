-- one row per transient problem met; messages stay behind
select * replace (null::varchar as message) from edition.problems order by all;
