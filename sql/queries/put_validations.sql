-- adds or replaces what is known of the validation of signatures
insert or replace into validations (signature_id, verdict, edition, detail, validated_at)
select unnest($signature_id::varchar[]), unnest($verdict::varchar[]), unnest($edition::varchar[]),
       unnest($detail::varchar[]), unnest($validated_at::timestamptz[]);
