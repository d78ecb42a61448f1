#!/usr/bin/env bash
# no_build_paths_test.sh CMAKE CXX: a library that knows where it was compiled is found; one compiled with the option
# that wheels are compiled with is not.
set -euo pipefail
cmake=$1 compiler=$2 check=$(cd "$(dirname "$0")" && pwd)/no_build_paths.cmake
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/source c++" "$folder/installed/lib"
source="$folder/source c++/place.cpp"
echo 'const char* place() { return __builtin_FILE(); }' >"$source"
looked() { "$cmake" "-DFOLDER=$folder/installed" "-DPATHS=$folder/source c++" -P "$check" 2>&1; }
fail() { echo "$*" >&2 && exit 1; }

"$compiler" -shared -fPIC "$source" -o "$folder/installed/lib/place.so"
said=$(looked) && fail "a path was not found"
[[ $said == *place.so* ]] || fail "the message does not name the file: $said"
"$compiler" -shared -fPIC "-ffile-prefix-map=$folder/source c++/=" "$source" -o "$folder/installed/lib/place.so"
looked || fail "a path was found where none is"
rm "$folder/installed/lib/place.so"
looked && fail "an empty folder passed"
exit 0
