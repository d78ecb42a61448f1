#!/usr/bin/env bash
# learn.sh PIECE…: the experiment of docs/learning.md on a GPU machine that is available for minutes, in the checkout's root. Each piece is
# one command of at most ten minutes; what it makes lies in $WORK and stays while the machine does, figures go to $OUT.
#   unpack FILE…       parts of archives that were split (NAME.tgz.aa, …), joined and unpacked into $WORK; weights of tasks made
#   try                known answers judged and timed: is everything there?
#   sft MINUTES        SFT of $WORK/model
#   grpo NAME REWARD MINUTES [FLAGS…]  GRPO of the SFT model, with a reward of `stitchcuda serve`
#   evaluate NAME [FLAGS…]  base, sft or an arm of grpo: answers to $OUT/NAME.jsonl
#   table              $OUT/table.md
set -eu
cd "$(dirname "$0")/../.."
work=${WORK:-$HOME/coder} out=${OUT:-$PWD/out} tool=${TOOL:-build/release/stitchcuda} device=${DEVICE:-cuda}
mkdir -p "$work" "$out"
rows=$work/corpus/rows.jsonl
export PYTHONPATH=python:$work/site
train="python3 -m stitchcuda.environments.train"

# serve NAME PORT FLAGS…: a reward service that stays; its address in $address.
serve() {
  address=http://127.0.0.1:$2
  (: <"/dev/tcp/127.0.0.1/$2") 2>/dev/null && return
  setsid "$tool" serve --tasks "$work/corpus/tasks" --device "$device" --port "$2" --state "$work/state-$1" --baselines none --quick "${@:3}" \
    >"$work/serve-$1.log" 2>&1 </dev/null &
  for _ in $(seq 300); do (: <"/dev/tcp/127.0.0.1/$2") 2>/dev/null && return || sleep 0.2; done
  tail -5 "$work/serve-$1.log" && exit 1
}
judge() { serve "$1" "$2" --reward "$1" --no-timing --share-processes && export STITCHCUDA_SERVICE=$address; }
clock() { serve clock 8132 --jobs 4 && export STITCHCUDA_CLOCK=$address; }

unpack() {
  for archive in $(printf '%s\n' "$@" | sed 's/\.[a-z][a-z]$//' | sort -u); do cat "$archive".?? | tar xz -C "$work"; done
  "$tool" skills regions -o "$work/corpus" --gpu H200 >/dev/null # makes the weights that were not carried
}

try() {
  judge combined 8130 && clock
  python3 - "$rows" <<'PYTHON'
import itertools, json, os, sys, time
from stitchcuda import rl
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["completion"] and row["extra_info"]["skill"] == "from scratch"][:64]
items = [rl._item(row["completion"], row["answer"]) for row in rows]
begin = time.monotonic()
said = rl.service().score_many(items)
print(f"{len(rows)} known answers in {time.monotonic() - begin:.1f} s:", [each["label"] for each in said])
print("rewards", [round(each["reward"], 2) for each in said], "a glance", [each["verdict"].get("seconds_a_call") for each in said[:4]])
begin = time.monotonic()
timed = rl.Service(os.environ["STITCHCUDA_CLOCK"]).score_many(items[:8])
print(f"8 timed in {time.monotonic() - begin:.1f} s:", [each["verdict"].get("seconds_a_call") for each in timed])
PYTHON
}

model_of() { case $1 in base) echo "$work/model" ;; sft) echo "$work/sft/final" ;; *) echo "$work/grpo-$1/final" ;; esac; }
sft() { $train sft "$rows" --model "$work/model" --out "$work/sft" --minutes "$1" "${@:2}" && cp "$work/sft/curve.jsonl" "$out/sft.curve.jsonl"; }
grpo() {
  judge "$2" $([ "$2" = combined ] && echo 8130 || echo 8131)
  $train grpo "$rows" --model "$work/sft/final" --out "$work/grpo-$1" --minutes "$3" "${@:4}" && cp "$work/grpo-$1/curve.jsonl" "$out/$1.curve.jsonl"
}
evaluate() {
  judge combined 8130 && clock
  $train evaluate "$rows" --model "$(model_of "$1")" --out "$out/$1.jsonl" "${@:2}"
}
table() {
  local arms=()
  for name in base sft "$@"; do [ ! -e "$out/$name.jsonl" ] || arms+=("$name=$out/$name.jsonl"); done
  python3 tools/learning_table.py "${arms[@]}" --rows "$rows" | tee "$out/table.md"
}

"$@"
