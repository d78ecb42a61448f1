#!/usr/bin/env bash
# try.sh [TOOL] [DEVICE]: do the programs work here? An honest candidate is judged and a small model optimised (8 s on an H200).
# Exit code 1 and their last lines where they don't: a first call that skipped this cost seven minutes of a GPU.
set -u
cd "$(dirname "$0")/../.."
tool=${1:-build/release/stitchcuda} device=${2:-cuda} testdata=src/verify/testdata
[ -s build/lender ] && export STITCHCUDA_TORCH_LENDER=$(cat build/lender)
mkdir -p build
"$tool" verify $testdata/candidates/honest.cu --task $testdata/row_center/graph --device "$device" --baselines none >build/try_verify.log 2>&1 &&
  "$tool" optimize examples/mlp.py -o build/try_mlp --device "$device" --quick --no-tune --budget 1 --no-timing --force --store none >build/try_optimize.log 2>&1 &&
  echo "$tool works on $device" && exit 0
tail -n 5 build/try_*.log
exit 1
