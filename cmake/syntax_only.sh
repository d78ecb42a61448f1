#!/bin/sh
# A compiler launcher that only checks a source: ./dev alone. The object stays empty, for Ninja to compare dates with.
"$@" -fsyntax-only || exit
while [ $# -gt 1 ]; do
  [ "$1" = -o ] && exec touch "$2"
  shift
done
