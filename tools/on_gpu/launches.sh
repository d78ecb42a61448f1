#!/usr/bin/env bash
# launches.sh OUT TASK.py…: each task's program with programmatic launches off and on, timed in turns (compare_programs.py). Programs that
# are in OUT/programs already (`stitchcuda code` needs no GPU) are taken from there.
set -euo pipefail
out=$1; shift
stitchcuda=${STITCHCUDA:-build/release/stitchcuda}
mkdir -p "$out/programs"
for task in "$@"; do
  program=$out/programs/$(basename "$(dirname "$task")")_$(basename "$task" .py)
  [ -e "$program/manifest.cu" ] || "$stitchcuda" code "$task" -o "$program" --weights never || true
done
python3 tools/compare_programs.py "$out/programs" --set programmatic_launches=1 -o "$out/launches.jsonl"
