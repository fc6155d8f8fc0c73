#!/usr/bin/env bash
# rules_test.sh FOLDER: plants a breach of each rule in an otherwise clean house, and expects
# rules.sh to name it. A clean house passes.
set -euo pipefail
rules=$(dirname "$(readlink -f "$0")")/rules.sh
root=$1

fresh() {
  rm -rf "$root"
  mkdir -p "$root/core"
  printf '// A thing.\n#pragma once\n' > "$root/core/thing.h"
  echo 'accrue_layer(NAME core HEADERS thing.h)' > "$root/core/CMakeLists.txt"
  git -C "$root" init -q 2>/dev/null || true
}
planted() {  # planted RULE FILE TEXT: appends the text to the file
  fresh
  printf '%b\n' "$3" >> "$root/$2"
  if "$rules" "$root" > "$root.out"; then
    echo "not caught: $1" && exit 1
  fi
  grep -q "^$1: " "$root.out" || { echo "caught, but not as: $1"; cat "$root.out"; exit 1; }
}

fresh
"$rules" "$root"
planted "over 400 lines" core/thing.h "$(printf '//\\n%.0s' {1..400})"
planted "a header begins with what it is for" core/bare.h '#pragma once'
planted "a header can be included twice" core/bare.h '// Bare.'
planted "not in the layer's CMakeLists.txt" core/stray.cpp '// Never compiled.'
planted "unfinished" core/thing.h '// TO''DO'
planted "a path of one machine" core/thing.h '// see /ho''me/me/x'
planted "using namespace in a header" core/thing.h 'using namespace std;'
planted "include <accrue/...>, by its full path" core/thing.h '#include "core/dims.h"'
planted "a library does not print or exit" core/thing.h 'inline void f() { printf("x"); }'
planted "lists are the table of contents" core/CMakeLists.txt 'file(GLOB x *.cpp)'
rm -rf "$root" "$root.out"
echo "each rule catches its breach"
