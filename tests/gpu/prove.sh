#!/usr/bin/env bash
# Proves on this machine what the project promises of a GPU: its kernels, its speed, its growth, its training.
#
#   tests/gpu/prove.sh [FOLDER]     logs and figures go to FOLDER (build/prove if not given)
#
# It takes less than ten minutes on one data-centre GPU and no network. Without a GPU it runs small CPU forms of the same
# steps, to show that the script itself works. SmolLM2 is used where `gre-bench models get smollm2-135m` has been run.
# It ends in a table; the exit code is 1 if a step failed.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/prove}
mkdir -p "$out"
python=${PYTHON:-python}
gre_bench() { "$python" -m gre_bench.cli.app "$@"; }

if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    device=cuda dtype=bfloat16 shape=llama-3.1-8b candidates=20 rounds=3 steps=40
else
    device=cpu dtype=bfloat16 shape=60m candidates=3 rounds=1 steps=2
    echo "no CUDA device: the CPU forms of the steps are run"
fi

step() { # NAME SECONDS COMMAND...: runs COMMAND for at most SECONDS, keeps its output and its exit code
    local name=$1 limit=$2 began=$SECONDS
    shift 2
    echo "== $name"
    timeout "$limit" "$@" >"$out/$name.out" 2>"$out/$name.err"
    echo "$name $? $((SECONDS - began))" >>"$out/steps"
    tail -n 1 "$out/$name.err"
}
skip() { echo "== $1: $2"; echo "$1 skipped 0" >>"$out/steps"; }
export -f gre_bench
export python
: >"$out/steps"

if [ "$device" = cuda ]; then
    step kernels 180 "$python" -m pytest -q -m gpu
else
    skip kernels "pytest -m gpu needs CUDA"
fi
step random 200 "$python" -m tests.gpu.random_model $shape $device $dtype $candidates $rounds
if gre_bench models where smollm2-135m >"$out/where" 2>/dev/null; then
    step smollm2 120 bash -c "gre_bench models bench scoring --model smollm2-135m \
        --set evaluation_lm.device=$device --set evaluation_lm.dtype=$dtype \
        --candidates $candidates --rounds $rounds --json"
    rm -rf "$out/tuned"
    "$python" tests/gpu/table.py --judgments >"$out/judgments.jsonl"
    step training 120 bash -c "gre_bench models tune lm --no-prefect --model smollm2-135m --judgments $out/judgments.jsonl \
        --train 0:12 --choose 12:16 --out $out/tuned --set device=$device --set max_steps=$steps --set batch=9 \
        --set accumulation=1 --set share_prefixes=true --set evaluate_every=0 --json"
else
    skip smollm2 "run: gre-bench models get smollm2-135m"
    skip training "run: gre-bench models get smollm2-135m"
fi
exec "$python" tests/gpu/table.py "$out"
