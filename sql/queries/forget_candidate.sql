-- forgets the candidate named by name_candidate: its reviews, their judgments, its pairs, all that was scored for it
-- Token log-probabilities that the score of another candidate needs too stay.
delete from spans
where prediction in (
    select unnest(predictions) from scores where candidate_id = getvariable('candidate')
    except
    select unnest(predictions) from scores where candidate_id <> getvariable('candidate')
);
delete from scores where candidate_id = getvariable('candidate');
delete from problems where candidate_id = getvariable('candidate');
delete from plan where candidate_id = getvariable('candidate');
delete from moved where candidate_id = getvariable('candidate');
delete from chance where candidate_id = getvariable('candidate');
delete from standings where candidate_id = getvariable('candidate');
delete from profiles where candidate_id = getvariable('candidate');
delete from lengths where candidate_id = getvariable('candidate');
delete from exposures where role = 'candidate' and name = getvariable('candidate');
delete from candidates where candidate_id = getvariable('candidate');
delete from judgments where review_id in (select review_id from reviews where candidate = getvariable('candidate'));
delete from replies
where task in ('review', 'judgments') and (
    item in (select review_id from reviews where candidate = getvariable('candidate'))
    or item in (select paper_id || ':' || getvariable('candidate') from papers)
);
delete from reviews where candidate = getvariable('candidate');
