-- forgets the sample
delete from sample;
