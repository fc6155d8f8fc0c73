#!/usr/bin/env bash
# rules.sh [FOLDER]: the rules of the house that can be read off the text. Prints every breach,
# then the size of the house. See CONTRIBUTING.md.
set -euo pipefail
cd "${1:-.}"
here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/sources.sh"

breaches=0
breach() {  # breach RULE FILE[:LINE: TEXT]...: one a line on standard input
  local line
  while IFS= read -r line; do
    echo "$1: $line"
    breaches=$((breaches + 1))
  done
}
matches() {  # matches REGEX FILE...: nothing found is no error
  local regex=$1
  shift
  [ $# = 0 ] || grep -HnE "$regex" -- "$@" || true
}

# This folder spells out what it forbids.
mapfile -t all < <(sources | grep -v '^tests/house/' || true)
mapfile -t code < <(printf '%s\n' "${all[@]}" | grep -E '\.(h|cpp|cu|cuh)$' || true)
mapfile -t build < <(printf '%s\n' "${all[@]}" | grep -E '(CMakeLists\.txt|\.cmake|\.sh)$|^(demo|check)$' || true)
mapfile -t outside_tests < <(printf '%s\n' "${code[@]}" "${build[@]}" | grep -v '^tests/' || true)
mapfile -t headers < <(printf '%s\n' "${code[@]}" | grep '\.h$' || true)
layer='^(core|kernels|io|autograd|optim|nn)/'
mapfile -t library < <(printf '%s\n' "${code[@]}" | grep -E "$layer" || true)
mapfile -t text < <([ ${#all[@]} = 0 ] || grep -LI $'\x01' -- "${all[@]}" || true)

long_files() {
  local file lines
  for file in "${outside_tests[@]}"; do
    lines=$(wc -l < "$file")
    [ "$lines" -le 400 ] || echo "$file: $lines lines"
  done
}
without_first() {  # headers whose first line is no comment
  local file
  for file in "${headers[@]}"; do
    case $(head -1 "$file") in //*) ;; *) echo "$file" ;; esac
  done
}
unguarded() {  # foreach_target includes some headers once for each target: they have a toggle
  [ ${#headers[@]} = 0 ] ||
    grep -LE '^#pragma once|^#ifndef ACCRUE_[A-Z_0-9]+_H|HWY_TARGET_TOGGLE' -- "${headers[@]}" || true
}
unlisted() {  # a source of a layer that no CMakeLists.txt at or above it names is never compiled
  local file folder
  for file in "${library[@]}"; do
    folder=$(dirname "$file")
    while [ ! -f "$folder/CMakeLists.txt" ] && [ "$folder" != . ]; do folder=$(dirname "$folder"); done
    grep -qF "${file#"$folder"/}" "$folder/CMakeLists.txt" 2>/dev/null || echo "$file"
  done
}

breach "over 400 lines" < <(long_files)
breach "a header begins with what it is for" < <(without_first)
breach "a header can be included twice" < <(unguarded)
breach "not in the layer's CMakeLists.txt" < <(unlisted)
breach "unfinished" < <(matches '\b(TODO|FIXME|XXX)\b|not (yet )?implemented' "${code[@]}" "${build[@]}")
breach "a path of one machine" < <(matches '(^|[^A-Za-z0-9_.}/])/(home|root|work|src|tmp|mnt|Users)/' "${text[@]}")
breach "using namespace in a header" < <(matches '^using namespace' "${headers[@]}")
breach "include <accrue/...>, by its full path" < <(matches '^#include "' "${library[@]}")
prints='\bstd::(cout|cerr|exit|abort)\b|[^_n]printf\(|[^_.]\bexit\('
breach "a library does not print or exit" < <(matches "^ *[^/ ].*($prints)" "${library[@]}")
breach "lists are the table of contents" < <(matches 'file\((GLOB|GLOB_RECURSE) ' "${build[@]}")

if [ ${#library[@]} -gt 0 ]; then
  wc -l "${library[@]}" | grep -v ' total$' | sort -n |
    awk '{n[NR] = $1} END {print NR " sources in the layers, median " n[int((NR + 1) / 2)] ", longest " n[NR] " lines"}'
fi
[ $breaches = 0 ] || { echo "$breaches breaches"; exit 1; }
