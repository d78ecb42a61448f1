#!/usr/bin/env bash
# Compiles the programs of examples for every architecture: compile_for_architectures.sh STITCHCUDA OUT [EXAMPLE…]
# Each example's program is written for a GPU of each architecture, and its sources are compiled by nvcc. A source that
# several architectures share is compiled for all of them at once, and none twice: OUT/done knows them by their
# contents. Exit code 77: skipped, there is no nvcc.
set -euo pipefail
stitchcuda=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
examples=$(cd "$(dirname "$0")" && pwd)
architectures=(80 86 89 90a 100 103 120)
declare -A gpus=([80]=A100 [86]=A10 [89]=L40S [90a]=H200 [100]=B200 [103]=B300 [120]="RTX PRO 6000")
together=24 # regions in one translation unit: most of what a small one costs is its headers

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
  echo "SKIPPED: no program was compiled for any architecture (no nvcc)" >&2
  exit 77
fi
if [ $# -eq 0 ]; then
  for model in "$examples"/*.py; do set -- "$@" "$(basename "$model" .py)"; done
fi
headers=$(realpath "$examples/../src/program/include")
flags=(-std=c++17 -Xptxas=-O1 --threads "$(nproc)" -I "$headers")
compiler=$({ "$nvcc" --version; echo "${flags[@]:0:2}"; cd "$headers" && find . -name '*.h' | sort | xargs cat; } | sha256sum)
done=$out/done/${compiler:0:16}
mkdir -p "$done"
find "$done" -type f -size +0 -delete # what failed is tried again

say() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }

# A source's contents, with the headers of its program that it includes; the manifest's words about the architecture
# change nothing.
contents() {
  local folder=$1 source=$2 header
  for header in "$folder"/*.h; do
    if grep -q "\"\(\.\./\)\?$(basename "$header")\"" "$source"; then cat "$header"; fi
  done
  sed '/^ *"architecture": /d' "$source"
}

# Under which name an architecture's result is kept: sources without kernels are the same to all.
kept_as() { if grep -qE '__global__|stitch/kernels/' "$1"; then echo "$2"; else echo any; fi; }

gencodes() { for one in "${@/#any/80}"; do printf -- '-gencode=arch=compute_%s,code=sm_%s\n' "$one" "$one"; done; }

# compile UNIT FOLDER ARCHITECTURE…: kernels only; the host's half is the same for all.
compile() { "$nvcc" "${flags[@]}" $(gencodes "${@:3}") -I "$2" -fatbin "$1" -o "$out/unit.fatbin"; }

first_error() { grep -m1 -E 'error|fatal' "$1" || tail -1 "$1"; }

# compile_together FOLDER ARCHITECTURES FILE…: notes for every file and architecture how it went.
compile_together() {
  local folder=$1 wanted=$2 unit=$out/unit.cu log=$out/unit.log file one
  shift 2
  for file in "$@"; do echo "#include \"$file\""; done >"$unit"
  if compile "$unit" "$folder" $wanted >"$log" 2>&1; then
    for file in "$@"; do for one in $wanted; do : >"$done/${key[$file]}.$one"; done; done
    return
  fi
  for file in "$@"; do
    for one in $wanted; do
      if compile "$file" "$folder" "$one" >"$log" 2>&1; then : >"$done/${key[$file]}.$one"; else
        first_error "$log" >"$done/${key[$file]}.$one"
      fi
    done
  done
}

# An example's program for each architecture. What code says goes to …/sm_90a.log.
write_programs() {
  local name=$1 one folder=$out/$1
  mkdir -p "$folder"
  if [ ! "$folder/graph/graph.txt" -nt "$examples/$name.py" ]; then
    rm -rf "$folder/graph"
    "$stitchcuda" import "$examples/$name.py" -o "$folder/graph" >"$folder/import.log" 2>&1 || return 1
  fi
  for one in "${architectures[@]}"; do
    rm -rf "$folder/sm_$one"
    "$stitchcuda" code "$folder/graph" --gpu "${gpus[$one]}" -o "$folder/sm_$one" >"$folder/sm_$one.log" 2>&1 ||
      rm -rf "$folder/sm_$one"
  done
}

# What is not known yet of the example's sources, regions with the same architectures to go together.
compile_programs() {
  local name=$1 one file batch hash kept
  declare -gA key=()
  declare -A missing=() place=() sharing=()
  for one in "${architectures[@]}"; do
    for file in "$out/$name/sm_$one"/*.cu "$out/$name/sm_$one"/regions/*.cu; do
      [ -e "$file" ] || continue
      hash=$(contents "$out/$name/sm_$one" "$file" | sha256sum)
      key[$file]=${hash:0:32}
      kept=$(kept_as "$file" "$one")
      [ -e "$done/${key[$file]}.$kept" ] && continue
      [[ ${missing[${key[$file]}]:-} == *"$kept "* ]] || missing[${key[$file]}]+="$kept "
      place[${key[$file]}]=${place[${key[$file]}]:-$file}
    done
  done
  for hash in "${!missing[@]}"; do
    file=${place[$hash]}
    case $file in
      */regions/*) sharing[${missing[$hash]}]+="$file"$'\n' ;;
      *) compile_together "$(dirname "$file")" "${missing[$hash]}" "$file" ;;
    esac
  done
  for one in "${!sharing[@]}"; do
    mapfile -t batch < <(printf %s "${sharing[$one]}" | sort)
    while [ ${#batch[@]} -gt 0 ]; do
      say "$name: ${#batch[@]} regions for sm_${one// / }"
      compile_together "$(dirname "$(dirname "${batch[0]}")")" "$one" "${batch[@]:0:together}"
      batch=("${batch[@]:together}")
    done
  done
}

# pass, or the first error.
verdict() {
  local name=$1 one=$2 folder=$out/$1/sm_$2 file note
  if [ ! -d "$folder" ]; then
    echo "$(tail -1 "$out/$name/import.log" "$folder.log" 2>/dev/null | grep -m1 . || echo "no program")"
    return
  fi
  for file in "$folder"/*.cu "$folder"/regions/*.cu; do
    note=$done/${key[$file]}.$(kept_as "$file" "$one")
    if [ -e "$note" ] && [ ! -s "$note" ]; then continue; fi
    echo "$(basename "$file"): $(cat "$note" 2>/dev/null || echo "not compiled")"
    return
  done
  echo pass
}

printf '%-22s' ""
printf '%8s' "${architectures[@]/#/sm_}"
echo
failures=()
for name in "$@"; do
  say "$name: writing programs"
  write_programs "$name" || true
  compile_programs "$name"
  say ""
  printf '%-22s' "$name"
  for one in "${architectures[@]}"; do
    said=$(verdict "$name" "$one")
    if [ "$said" = pass ]; then printf '%8s' pass; else
      printf '%8s' FAIL
      failures+=("$name, sm_$one: $said")
    fi
  done
  echo
done
[ ${#failures[@]} -eq 0 ] || { printf '%s\n' "" "${failures[@]}" && exit 1; }
