#!/usr/bin/env bash
# models.sh LIST OUT SECONDS [FLAGS OF bench…]: the models that LIST names (one a line: of tools/models/catalogue.py, or a task's path), in
# its order, for SECONDS; JOBS (12) at a time. PyTorch's times are those of docs/results; models_table.py compares, memory included.
# QUICK=--quick for fewer gates. SITE is a folder called site-packages with what this machine lacks (timm, diffusers), if anything.
set -u
cd "$(dirname "$0")/../.."
list=$1 out=$2 seconds=$3
shift 3
mkdir -p "$out.tasks"
python3 tools/on_gpu/known.py models >"$out.known.jsonl"
python3 tools/models/make_tasks.py -o "$out.tasks" >/dev/null
tasks=()
while read -r name; do
  case $name in '' | '#'*) ;; *.py) tasks+=("$name") ;; *) tasks+=("$out.tasks/$name.py") ;; esac
done <"$list"
unset STITCHCUDA_TORCH_LENDER # bench has its own, with the libraries of these tasks
PYTHONPATH=${SITE:-} STITCHCUDA_STORE=none timeout -k 4 -s INT "$seconds" build/release/stitchcuda bench "${tasks[@]}" -o "$out" --eval \
  --jobs "${JOBS:-12}" ${QUICK-} --known-baselines "$out.known.jsonl" "$@" >"$out.log" 2>&1
pkill -9 -x stitchcuda; pkill -9 stitch-runner
python3 tools/on_gpu/models_table.py "$out/tasks.jsonl"
