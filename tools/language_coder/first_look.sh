#!/usr/bin/env bash
# first_look.sh DATA OUT TOOL: before the whole road on a GPU, half a minute that says how it will go: does TRL import, how fast the
# reward service judges (verdicts per minute, where the time goes), how fast the loss of the warm-up falls. Ends by itself after 40 s.
set -u
data=$1 out=$2 tool=$3
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} STITCHCUDA_STORE=none
python=$(command -v "${STITCHCUDA_PYTHON:-python3}")
export STITCHCUDA_PYTHON=$python
mkdir -p "$out"
timeout 30 "$python" -c "
from language_coder import reinforce
reinforce.imports()
import trl, transformers
print('TRL', trl.__version__, 'transformers', transformers.__version__)" >"$out/trl.log" 2>&1 &
importing=$!
timeout 35 "$python" -m language_coder.road warm-up "$data" "$out" --seconds 16 --lazy 1 >"$out/warm_up.log" 2>&1 &
warming=$!
timeout 40 "$python" -m language_coder.rate "$data" --tool "$tool" --tasks 3 --group 16 --rounds 2 --device "${DEVICE:-cuda}" 2>&1 | tee "$out/rate.log"
wait $importing $warming
tail -1 "$out/trl.log"
grep -E 'parameters|"loss"|steps of' "$out/warm_up.log" | tail -14
