#!/usr/bin/env bash
# launches.sh OUT TASK.py…: each task's program with programmatic launches off and on, timed in turns (compare_programs.py).
set -euo pipefail
out=$1; shift
stitchcuda=${STITCHCUDA:-build/release/stitchcuda}
mkdir -p "$out/off" "$out/on"
for task in "$@"; do
  name=$(basename "$task" .py)
  [ -e "$out/off/$name/manifest.cu" ] || "$stitchcuda" code "$task" -o "$out/off/$name" || continue
  grep -q 'Setting programmatic_launches' "$out/off/$name/manifest.cu" || { echo "$name: not offered"; rm -r "${out:?}/off/$name"; continue; }
  rm -rf "${out:?}/on/$name"
  cp -r "$out/off/$name" "$out/on/$name"
  sed -i 's/\("programmatic_launches", {0, 1}, \)0/\11/' "$out/on/$name/manifest.cu"
done
python3 tools/compare_programs.py "$out/off" "$out/on" -o "$out/launches.jsonl"
