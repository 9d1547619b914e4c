-- one row per model that is a candidate: the name by which the models file may know it
select distinct model from candidates where model is not null order by model;
