#!/usr/bin/env bash
# The watch over timed calls on a GPU (docs/verifier.md, Times): honest programs before and after, and the
# candidates that lie about their time. About three minutes.
#   tools/check_watch.sh build/release/stitchcuda build/release/verify_test [an older stitchcuda] > table.txt
set -u
tool=$1 tests=$2 older=${3:-} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
programs="layer_norm row_softmax mlp matmul_bias_gelu conv_batch_norm_relu fused_pointwise"
time_with() {  # tool, program, label
  timeout 60 "$1" verify "examples/programs/$2" --task "examples/programs/$2/task.py" --device cuda --baselines none --json \
    > "$out/$2.$3.json" 2> "$out/$2.$3.err"
}
for program in $programs; do
  time_with "$tool" "$program" after
  if [ -n "$older" ]; then time_with "$older" "$program" before; fi
done
STITCHCUDA_TEST_DEVICE=cuda timeout 300 "$tests" --gtest_filter='Candidates.*:Series.*:HeldTrials.*' > "$out/suite.txt" 2>&1
echo "candidates: exit code $?"
grep 'FAILED\|PASSED\|failed at' "$out/suite.txt" | sort -u
OUT=$out python3 - <<'P'
import glob, json, os

def us(seconds):
    return "-" if seconds is None else f"{1e6 * seconds:.2f}"

print("program, verdict, claim us, watched us, resolution us, alone us, calls, outputs read in, judged, gate s, all gates s")
for path in sorted(glob.glob(os.environ["OUT"] + "/*.json")):
    name = os.path.basename(path)[:-5]
    try:
        verdict = json.load(open(path))
    except ValueError:
        print(name, "no verdict:", open(path[:-5] + ".err").read()[-200:])
        continue
    gates = {gate["gate"]: gate for gate in verdict.get("gates", [])}
    timing = gates.get("timing", {})
    evidence = timing.get("evidence", {})
    watch, program = evidence.get("watch", {}), evidence.get("program", {})
    print(", ".join(str(part) for part in (
        name, verdict.get("verdict"), us(program.get("seconds")), us(evidence.get("watched_seconds")), us(watch.get("resolution_seconds")),
        us(watch.get("alone_seconds")), watch.get("calls"), watch.get("outputs_read_in"), evidence.get("judged"),
        round(timing.get("seconds", 0), 2), round(sum(gate.get("seconds", 0) for gate in gates.values()), 2), verdict.get("reason", ""))))
P
