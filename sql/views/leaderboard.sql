-- one row per signature and candidate of the board that ranks no contaminated candidate: see board, which has both
-- Forms of metrics above chance, such as gem_specific, are in chance_corrected: first by score is first on the board.
create or replace view leaderboard as
select b.* exclude (board)
from board b
join signatures s using (signature_id)
where b.board = 'clean' and s.chance = 'none';
