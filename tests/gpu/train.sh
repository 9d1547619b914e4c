#!/usr/bin/env bash
# Trains the adapter `gem-smollm2-2` on this machine.
#
#   tests/gpu/train.sh FILES NEVER OUT [--set KEY=VALUE ...]
#
# FILES is what `python -m tests.gpu.training_files` wrote. NEVER is a folder with the papers that judge the adapter; no
# paper of a file there is learnt: notes of OpenReview (*.notes.jsonl.gz) and lists of papers (*.papers.jsonl).
# `gre-bench models get smollm2-135m` must have been run. 1,440 steps of nine conversations read 4.3 million tokens:
# minutes on a data-centre GPU, 12 to 24 hours on one CPU core. A killed run goes on where its last checkpoint was.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=$1 never=$2 out=$3
shift 3
python=${PYTHON:-python}

if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    device=cuda dtype=bfloat16
    share=false batch=36 accumulation=1 # launches, not tokens, take the time: sharing prefixes would add to them
else
    device=cpu dtype=float32 # bfloat16 is 50 times slower on CPUs without instructions for it
    share=true batch=9 accumulation=4
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
    --judgments "$files/by_gpt4o.parquet" --train 300:900 --choose 900:1000 \
    --judgments "$files/by_rule.parquet" --train 60:4000 --choose 0:60 --papers-file "$files/papers.jsonl" \
    "${left_out[@]}" --out "$out" --set device=$device --set dtype=$dtype \
    --set 'metrics=["gem","gem_s_abstract","gem_s_assw"]' --set learning_rate=2e-3 --set share_prefixes=$share \
    --set batch=$batch --set accumulation=$accumulation --set save_every=200 --set evaluate_every=500 "$@"
