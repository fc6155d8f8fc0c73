#!/usr/bin/env bash
# lint.sh format        fails, with a diff, if clang-format would change a source
# lint.sh tidy [FILE]   clang-tidy over the given sources, or over those changed since main;
#                       needs build/release or build to be configured
# lint.sh               both
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. tools/sources.sh

format() {
  local tool
  tool=$(command -v clang-format-14 || command -v clang-format) || {
    echo "skipped: clang-format is not installed (apt-get install clang-format)"
    return 77
  }
  # Other versions lay out a few constructs differently; the project is kept with this one.
  if ! "$tool" --version | grep -q 'version 14\.'; then
    echo "skipped: sources are kept with clang-format 14, this is $("$tool" --version)"
    return 77
  fi
  local wrong=0 file
  mapfile -t files < <(sources '*.h' '*.cpp' '*.cu' '*.cuh')
  if "$tool" --dry-run -Werror "${files[@]}" 2>/dev/null; then return 0; fi
  for file in "${files[@]}"; do
    diff -u --label "$file" --label "$file, formatted" "$file" <("$tool" "$file") ||
      wrong=$((wrong + 1))
  done
  echo "$wrong files differ; clang-format -i FILE puts them right"
  return 1
}

tidy() {
  command -v clang-tidy >/dev/null || { echo "skipped: clang-tidy is not installed"; return 77; }
  local database
  for database in build/release build; do
    [ ! -f $database/compile_commands.json ] || break
  done
  local changed=()
  [ $# -gt 0 ] || mapfile -t changed < <(git diff --name-only --diff-filter=d main -- "*.cpp")
  [ $# -gt 0 ] || set -- "${changed[@]}"
  [ $# -gt 0 ] || { echo "no source changed since main"; return 0; }
  # Code that is compiled once per instruction set is the same text each time: one is enough.
  printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} clang-tidy --quiet -p "$database" \
    --extra-arg=-DHWY_COMPILE_ONLY_STATIC {}
}

case ${1:-all} in
  format) format ;;
  tidy) shift && tidy "$@" ;;
  all) format && tidy ;;
  *) echo "usage: $0 [format | tidy [FILE...]]" >&2 && exit 2 ;;
esac
