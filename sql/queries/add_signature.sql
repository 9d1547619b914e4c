-- adds a signature that is not yet known
insert or ignore into signatures
select $signature_id, $metric, $prompt_sha256, $evaluation_lm, $lm_digest, $dtype, $quantisation, $attention,
       $template_digest, $writer, $synopsis_writer, $form, $text_cut, $ascii_fold, $engine_version, $chance;
