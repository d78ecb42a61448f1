#!/usr/bin/env bash
# evaluator.sh ORDER OUT SECONDS: programs made for KernelBench's own check (`bench --compat kernelbench`, no timing) of the tasks that ORDER
# lists ("LEVEL NUMBER" a line), each judged by KernelBench's evaluator as soon as it is there; JOBS (11) programs at a time are made,
# JUDGES (4) judged, for TIME_LIMIT (60) seconds at most each: tasks of gigabytes, drawn on the CPU, take longer beside others. What is
# rejected is followed by PyTorch in other WAYS. $OUT.evaluator.jsonl has a line a task; a second call goes on where one ended.
set -u
cd "$(dirname "$0")/../.."
order=$1 out=$2 seconds=$3
mkdir -p "$(dirname "$out")"
begin=$SECONDS
tasks=()
while read -r level number; do tasks+=(.kernelbench/KernelBench/level"$level"/"$number"_*.py); done <"$order"
[ -s build/lender ] && export STITCHCUDA_TORCH_LENDER=$(cat build/lender)
STITCHCUDA_STORE=none timeout -k 4 -s INT "$((seconds - 25))" build/release/stitchcuda bench "${tasks[@]}" -o "$out" --jobs "${JOBS:-11}" \
  --compat kernelbench --no-tune --quick --no-timing --budget 1 >"$out.log" 2>&1 &
timeout -k 4 -s INT "$seconds" python3 tools/kernelbench_evaluator.py .kernelbench "$out" -o "$out.evaluator.jsonl" --jobs "${JUDGES:-4}" \
  --time-limit "${TIME_LIMIT:-60}" --ways "${WAYS:-reversed,search,channels_last}" --follow $! 2>"$out.evaluator.log"
pkill -9 -x stitchcuda; pkill -9 stitch-runner
python3 tools/kernelbench_evaluator.py .kernelbench "$out" -o "$out.evaluator.jsonl" --table
echo "in $((SECONDS - begin)) s: $(wc -l <"$out/tasks.jsonl") programs made, $(wc -l <"$out.evaluator.jsonl") judged"
