#!/usr/bin/env bash
# build.sh [TARGET…]: stitchcuda for measuring on a GPU machine where nothing can be installed (build/release), as fast as it compiles,
# and a process that imports PyTorch once for all others (its socket's path is in build/lender). TARGETs are built beside stitchcuda.
# Where the machine has no Python.h, PYTHON_HEADERS names a folder with another Python's: the extension is on the stable ABI.
set -eu
cd "$(dirname "$0")/../.."
begin=$SECONDS
mkdir -p build
socket=$(mktemp -d)/socket
# Images without bytecode compile 1,400 modules at every start (3 s); pip would have left it there.
site=$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')
[ -d "$site/torch/__pycache__" ] || (cd "$site" && python3 -m compileall -q -j 6 torch torchvision transformers triton sympy mpmath networkx numpy >/dev/null 2>&1) &
bytecode=$!
PYTHONPATH=python setsid python3 -m stitchcuda_torch.lend "$socket" >build/lender.log 2>&1 &
echo "$socket" >build/lender
cmake --preset release -DCMAKE_CXX_FLAGS_RELEASE="-Og -DNDEBUG" -DSTITCHCUDA_UNITY_FILES=8 -DSTITCHCUDA_BENCHMARKS=OFF >build/cmake.log 2>&1 || { tail -20 build/cmake.log; exit 1; }
ninja -C build/release stitchcuda stitch-runner "$@" >build/ninja.log 2>&1 || { grep -E -A8 'error|FAILED' build/ninja.log | head -40; exit 1; }
if [ -n "${PYTHON_HEADERS:-}" ] && [ ! -e build/release/_call.abi3.so ]; then
  g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -DPy_LIMITED_API=0x030A0000 -I "$PYTHON_HEADERS" -I src/program/include python/stitchcuda/call/*.cpp \
    -o build/release/_call.abi3.so -ldl
fi
wait $bytecode || true
for _ in $(seq 40); do grep -q ready build/lender.log && break; sleep 0.5; done
echo "built in $((SECONDS - begin)) s"
