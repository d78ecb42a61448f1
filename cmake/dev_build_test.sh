#!/usr/bin/env bash
# ./dev without a terminal: says now and then how far the build is, keeps Ninja's lines in the log, and fails with the
# compiler's message. A test that fails fails ./dev test: none has a second turn. Ninja, CTest and the packages are played
# by scripts.
set -euo pipefail
dev=$(cd "$(dirname "$0")/.." && pwd)/dev
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cp "$dev" "$folder/dev"
printf '#!/bin/sh\necho install ok installed\n' >"$folder/bin/dpkg-query"
cat >"$folder/bin/cmake" <<'TXT'
#!/bin/sh
[ "$1" = --build ] || exit 0
echo '[1/3] Building CXX object a.o'
sleep "${PAUSE:-0}"
echo '[2/3] Building CXX object b.o'
[ -z "${BROKEN:-}" ] || { echo 'b.cpp:1: error: no such thing'; exit 1; }
echo '[3/3] Linking'
TXT
cat >"$folder/bin/ctest" <<'TXT'
#!/bin/sh
echo "ctest $*" >>"$CALLS"
exit "${TESTS:-0}"
TXT
chmod +x "$folder"/bin/*
run() { env PATH="$folder/bin:$PATH" STITCHCUDA_PYTHON=true "$@" "$folder/dev" build release 2>&1 >/dev/null; }
failed=0
expect() { # WHAT EXPECTED GOT
  [ "$2" = "$3" ] || { printf '%s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"; failed=1; }
}

first='building release (a few minutes the first time)'
expect 'each step, when asked for all' "$first
compiling 1 of 3
compiling 2 of 3
compiling 3 of 3" "$(run DEV_PROGRESS_SECONDS=0)"
expect 'once the time has passed, and then not at once again' "$first
compiling 2 of 3" "$(run DEV_PROGRESS_SECONDS=1 PAUSE=1.5)"
expect 'nothing more for a short build' "$first" "$(run DEV_PROGRESS_SECONDS=20)"
expect 'every line is in the log' 3 "$(grep -c '^\[' "$folder/build/release.log")"
got=$(run BROKEN=1) && expect 'a failing build fails' failure success
expect 'the message' 'b.cpp:1: error: no such thing' "$(grep error <<<"$got")"

# The exit code of ./dev test, and how CTest was called.
tests() {
  local code=0
  : >"$folder/calls"
  env PATH="$folder/bin:$PATH" STITCHCUDA_PYTHON=true CALLS="$folder/calls" "$@" "$folder/dev" test >/dev/null 2>&1 || code=$?
  echo "$code: $(cat "$folder/calls")"
}
expect 'all tests pass' '0: ctest --preset dev' "$(tests TESTS=0)"
expect 'a test fails' '8: ctest --preset dev' "$(tests TESTS=8)"
exit $failed
