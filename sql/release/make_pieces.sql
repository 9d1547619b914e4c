-- one row per signature and reference that may be shown: its text in the tokens of the evaluation LM
create table pieces (signature_id varchar, reference_id varchar, pieces varchar[]);
