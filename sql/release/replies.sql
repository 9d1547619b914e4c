-- one row per text that was asked for; details may quote it or name an endpoint, and stay behind
select * replace (null::varchar as detail) from edition.replies order by task, item, writer;
