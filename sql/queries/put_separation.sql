-- sets the separation of one signature
insert or replace into separation (signature_id, same, other, same_pairs, other_pairs, auc, low, high)
values ($signature_id, $same, $other, $same_pairs, $other_pairs, $auc, $low, $high);
