-- one row per signature and candidate of the board that ranks no contaminated candidate: see board, which has both
create or replace view leaderboard as
select * exclude (board)
from board
where board = 'clean';
