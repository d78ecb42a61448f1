#!/usr/bin/env bash
# on_gpu.sh DATA OUT TOOL SECONDS [FLAGS OF learn…]: the whole road on a GPU, ended after SECONDS.
# DATA is what language_coder.corpus wrote (with tokenizer.json); TOOL may still be under construction when this starts: the
# warm-up needs none. Python needs torch, transformers, accelerate and trl. WARM_UP_SECONDS and WARM_UP_FLAGS are for `road warm-up`.
set -u
data=$1 out=$2 tool=$3 seconds=$4
shift 4
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
python=$(command -v "${STITCHCUDA_PYTHON:-python3}")
export STITCHCUDA_PYTHON=$python
mkdir -p "$out"
begin=$SECONDS
rm -f "$out/warm_up/warm_up.json"  # of a run before: learn waits for it
# Training has a core, whatever compiles beside it; not every machine allows the priority.
first=(nice -n -10)
"${first[@]}" true 2>/dev/null && [ "$(id -u)" = 0 ] || first=()
# PyTorch imported once for all services, beside the warm-up.
socket=$(mktemp -d)/socket
PYTHONPATH=$here/../python${PYTHONPATH:+:$PYTHONPATH} nice -n 5 "$python" -m stitchcuda_torch.lend "$socket" >"$out/lender.log" 2>&1 &
lender=$!
trap 'kill $lender 2>/dev/null' EXIT
"${first[@]}" "$python" -m language_coder.road warm-up "$data" "$out" --seconds "${WARM_UP_SECONDS:-80}" ${WARM_UP_FLAGS:-} \
  >"$out/warm_up.log" 2>&1 &
warming=$!
# The tool answers, its runner is there, and no compiler has written anything for eight seconds.
built() {
  local folder
  folder=$(dirname "$tool")
  "$tool" --version >/dev/null 2>&1 && { [ ! -e "$folder/build.ninja" ] || [ -x "$folder/stitch-runner" ]; } &&
    [ -z "$(find "$folder" -type f -mmin -0.14 -print -quit)" ]
}
until built; do
  ((SECONDS - begin < seconds / 2)) || { echo "there is no $tool"; kill $warming; exit 1; }
  sleep 2
done
for _ in $(seq 40); do grep -q ready "$out/lender.log" && break; sleep 0.5; done
grep -q ready "$out/lender.log" && export STITCHCUDA_TORCH_LENDER=$socket
echo "the tool and PyTorch were there after $((SECONDS - begin)) s"
# Beside the warm-up: tasks are opened, and programs to improve are judged.
"${first[@]}" "$python" -m language_coder.road learn "$data" "$out" --tool "$tool" --seconds $((seconds - (SECONDS - begin))) "$@" >"$out/learn.log" 2>&1 &
learning=$!
wait $warming || { tail -20 "$out/warm_up.log"; kill $learning; exit 1; }
tail -2 "$out/warm_up.log"
wait $learning
status=$?
grep -E '^\[|^service|Error' "$out/learn.log" | cut -c1-300 | tail -60
for log in "$out"/*/log.txt; do grep -hE 'rollout|^service|Error|answers in' "$log" | cut -c1-400 | tail -30; done
[ $status = 0 ] || tail -n 30 "$out/learn.log" "$out"/*/log.txt
cat "$out/table.md" 2>/dev/null
exit $status
