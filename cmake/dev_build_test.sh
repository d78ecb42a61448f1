#!/usr/bin/env bash
# ./dev without a terminal: says now and then how far the build is, keeps Ninja's lines in the log, and fails with the
# compiler's message. Of its tests, few that fail have a second turn alone. Ninja, CTest and the packages are played by
# scripts.
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
# FAILS: how many tests do so beside others; ALONE: what comes of them alone.
cat >"$folder/bin/ctest" <<'TXT'
#!/bin/sh
echo "ctest $*" >>"$CALLS"
case $* in *--rerun-failed*) exit "${ALONE:-0}" ;; esac
mkdir -p build/dev/Testing/Temporary
: >build/dev/Testing/Temporary/LastTestsFailed.log
for i in $(seq "${FAILS:-0}"); do echo "$i:room.Test$i" >>build/dev/Testing/Temporary/LastTestsFailed.log; done
[ "${FAILS:-0}" = 0 ] || exit 8
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

# What ./dev says of the tests, its exit code, and how often CTest was called.
tests() {
  local code=0
  : >"$folder/calls"
  env PATH="$folder/bin:$PATH" STITCHCUDA_PYTHON=true CALLS="$folder/calls" "$@" "$folder/dev" test >/dev/null 2>"$folder/said" || code=$?
  grep -E 'alone' "$folder/said" || true
  echo "$code, $(wc -l <"$folder/calls") calls"
}
expect 'all pass' '0, 1 calls' "$(tests FAILS=0)"
expect 'one passes alone' 'once more, alone: room.Test1
passed alone, failed beside others: room.Test1
0, 2 calls' "$(tests FAILS=1)"
expect 'two fail alone, too' 'once more, alone: room.Test1 room.Test2
8, 2 calls' "$(tests FAILS=2 ALONE=8)"
expect 'too many' '8, 1 calls' "$(tests FAILS=4)"
exit $failed
