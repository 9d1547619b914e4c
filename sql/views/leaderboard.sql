-- one row per signature and candidate of the board that ranks no contaminated candidate: see boards, which has both
create or replace view leaderboard as
select * exclude (board)
from boards
where board = 'clean';
