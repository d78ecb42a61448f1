#!/usr/bin/env bash
# carry.sh FILE.tgz [BUILD]: the programs of BUILD (build/dev) with the libraries they need, to be unpacked in a checkout on a GPU machine of
# the same architecture and a glibc as new as this one's: tar xzf FILE.tgz -C build && ln -sfn "$PWD" THIS-CHECKOUT'S-PATH, since a build
# knows its checkout by its path. Saves build.sh's minute and a half. tools/on_gpu/release.py tries it before
# anything is spent. Needs patchelf.
set -eu
cd "$(dirname "$0")/../.."
file=$(realpath -m "$1") build=${2:-build/dev}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/release/lib"
programs=(stitchcuda stitch-runner stitch-confine stitch-compile-emulated stitchcuda-mutants)
[ ! -e "$build/verify_test" ] || programs+=(verify_test)
for each in "${programs[@]}"; do
  [ -e "$build/$each" ] || { echo "$build has no $each"; exit 1; }
  strip -o "$stage/release/$each" "$build/$each"
  patchelf --set-rpath '$ORIGIN/lib' "$stage/release/$each"
  ldd "$build/$each"
done | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | sort -u | xargs -r cp -Lt "$stage/release/lib"
for each in "$stage"/release/lib/*; do patchelf --set-rpath '$ORIGIN' "$each"; done
for each in "$build"/libstitch-walls.so "$build"/libstitch_emulated_runtime.so "$build"/_call.abi3.so; do
  [ ! -e "$each" ] || strip -o "$stage/release/$(basename "$each")" "$each"
done
tar czf "$file" -C "$stage" release
ls -l "$file"
