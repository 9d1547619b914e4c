-- forgets how the sample was drawn
delete from draws;
