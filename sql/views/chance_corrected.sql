-- one row per signature and candidate of the forms of metrics above chance, such as gem_specific, like those of leaderboard
create or replace view chance_corrected as
select b.* exclude (board)
from board b
join signatures s using (signature_id)
where b.board = 'clean' and s.chance <> 'none';
