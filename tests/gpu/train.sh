#!/usr/bin/env bash
# Trains the adapter `gem-smollm2-2` on this machine.
#
#   tests/gpu/train.sh FILES NEVER OUT
#
# FILES is what `python -m tests.gpu.training_files` wrote. NEVER is a folder with the papers that judge the adapter; no
# paper of a file there is learnt: notes of OpenReview (*.notes.jsonl.gz) and lists of papers (*.papers.jsonl).
# `gre-bench models get smollm2-135m` must have been run. A killed run goes on where its last checkpoint was.
#
# The first stage learns to predict reviews. A batch is one paper's, so a review is a target in one to three steps of a pass.
# In batches of mixed papers it is in up to nine, and the adapter learns the reviews by heart. The second stage goes on from
# the first, and also learns to tell a review of the paper from one of a like paper and from a passage of the paper's text.
# The adapter is the mean of both.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=$1 never=$2 out=$3
python=${PYTHON:-python}

if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    device=cuda dtype=bfloat16
elif grep -qE "amx_bf16|avx512_bf16" /proc/cpuinfo; then
    device=cpu dtype=bfloat16
else
    device=cpu dtype=float32 # bfloat16 is 50 times slower on CPUs without instructions for it
fi
left_out=(--never "$files/rows_0_299.parquet")
for file in "$never"/*.notes.jsonl.gz "$never"/*.papers.jsonl; do
    if [ -e "$file" ]; then left_out+=(--never "$file"); fi
done
if [ "${#left_out[@]}" -lt 4 ]; then
    echo "$never has no notes and no papers to leave out" >&2
    exit 2
fi
stage() { # MODEL OUT ROWS-BY-RULE SETTING...
    local settings=()
    for setting in "${@:4}"; do settings+=(--set "$setting"); done
    "$python" -m gre_bench.cli.app models tune lm --no-prefect --model "$1" \
        --judgments "$files/by_gpt4o.parquet" --train 300:900 --choose 900:902 \
        --judgments "$files/by_rule.parquet" --train "$3" --choose 0:2 --papers-file "$files/papers.jsonl" \
        "${left_out[@]}" --out "$2" --set device=$device --set dtype=$dtype \
        --set 'metrics=["gem","gem_s_abstract","gem_s_assw"]' --set share_prefixes=true --set batch=9 \
        --set accumulation=1 --set max_tokens=1400 --set save_every=20 --set evaluate_every=0 "${settings[@]}"
}
stage smollm2-135m "$out-1" 60:140 learning_rate=2e-3 max_steps=320
stage "$out-1" "$out-2" 60:500 learning_rate=1e-3 max_steps=140 contrast=0.2 seed=43
[ -e "$out" ] || "$python" -m tests.gpu.mean "$out-1" "$out-2" 0.5 "$out"
