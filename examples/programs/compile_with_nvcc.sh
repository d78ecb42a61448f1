#!/usr/bin/env bash
# Compiles and links every example for sm_90a. Exit code 77: skipped, there is no nvcc.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
headers=$folder/../../src/program/include
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
  echo "SKIPPED: the examples were not compiled for a GPU (no nvcc)" >&2
  exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

compile() {
  local program=$1 libraries=()
  grep -q '"libraries": \[.*"cublasLt"' "$program/manifest.cu" && libraries+=(-lcublasLt)
  grep -q '"libraries": \[.*"cudnn"' "$program/manifest.cu" && libraries+=(-lcudnn)
  shopt -s nullglob
  "$nvcc" -std=c++17 -O3 -shared -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings \
    -Xcompiler -fPIC,-Wall,-Wextra,-Werror -Xlinker --no-undefined -I"$headers" \
    "$program"/*.cu "$program"/regions/*.cu -L"$(dirname "$nvcc")/../lib" "${libraries[@]}" -o "$out/program.so"
}

for program in "$folder"/*/; do
  echo "$(basename "$program")"
  compile "$program"
done
# Every header that programs ship: the emulated GPU's compiler takes C++20, nvcc is asked for C++17. A folder's together;
# STITCHCUDA_ALL_EXAMPLES=1: each by itself (a minute).
cd "$headers"
compile_headers() {
  printf '#include "%s"\n' "$@" >"$out/headers.cu"
  "$nvcc" -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror \
    -I"$headers" --ptx "$out/headers.cu" -o "$out/headers.ptx" || { echo "$*" >&2; exit 1; }
}
for part in stitch/*/; do
  if [ -n "${STITCHCUDA_ALL_EXAMPLES:-}" ]; then
    for header in "$part"*.h; do compile_headers "$header"; done
  else
    compile_headers "$part"*.h
  fi
done
