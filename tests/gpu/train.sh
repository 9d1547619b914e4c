#!/usr/bin/env bash
# Trains the adapter `gem-smollm2-2` on this machine.
#
#   tests/gpu/train.sh FILES NEVER OUT
#
# FILES is what `python -m tests.gpu.training_files` wrote. NEVER is a folder with the papers that judge the adapter; no
# paper of a file there is learnt: notes of OpenReview (*.notes.jsonl.gz) and lists of papers (*.papers.jsonl).
# `gre-bench models get smollm2-135m` must have been run. A killed run goes on where its last checkpoint was.
#
# A batch is one paper's, so a review is a target in one to three steps of a pass. In batches of mixed papers it is in up to
# nine, and the adapter learns the reviews by heart.
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
exec "$python" -m gre_bench.cli.app models tune lm --no-prefect --model smollm2-135m \
    --judgments "$files/by_gpt4o.parquet" --train 300:900 --choose 900:902 \
    --judgments "$files/by_rule.parquet" --train 60:140 --choose 0:2 --papers-file "$files/papers.jsonl" \
    "${left_out[@]}" --out "$out" --set device=$device --set dtype=$dtype \
    --set 'metrics=["gem","gem_s_abstract","gem_s_assw"]' --set share_prefixes=true --set batch=9 --set accumulation=1 \
    --set max_tokens=1400 --set save_every=20 --set evaluate_every=0 --set learning_rate=2e-3 --set max_steps=320
