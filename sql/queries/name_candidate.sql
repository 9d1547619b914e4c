-- names the candidate that forget_candidate forgets
set variable candidate = $candidate;
