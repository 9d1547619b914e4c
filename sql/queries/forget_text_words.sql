-- forgets what became of the words of some papers, which were read again
delete from text_words where paper_id in (select unnest($paper_id::varchar[]));
