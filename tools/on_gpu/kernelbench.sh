#!/usr/bin/env bash
# kernelbench.sh ORDER OUT SECONDS [FLAGS OF bench…]: the tasks that ORDER lists ("LEVEL NUMBER" a line), in its order, for SECONDS;
# JOBS (14) at a time. KernelBench's checkout is in .kernelbench. PyTorch's times are those of docs/results; table.py compares.
set -u
cd "$(dirname "$0")/../.."
order=$1 out=$2 seconds=$3
shift 3
mkdir -p "$(dirname "$out")"
python3 tools/on_gpu/known.py >"$out.known.jsonl"
tasks=()
while read -r level number; do tasks+=(.kernelbench/KernelBench/level"$level"/"$number"_*.py); done <"$order"
[ -s build/lender ] && export STITCHCUDA_TORCH_LENDER=$(cat build/lender)
STITCHCUDA_STORE=none timeout -k 4 -s INT "$seconds" build/release/stitchcuda bench "${tasks[@]}" -o "$out" --jobs "${JOBS:-14}" \
  ${QUICK-} --known-baselines "$out.known.jsonl" "$@" >"$out.log" 2>&1
pkill -9 -x stitchcuda; pkill -9 stitch-runner
python3 tools/on_gpu/table.py "$out/tasks.jsonl"
