# shellcheck shell=bash
# sources [PATTERN...]: the files of this project, one a line, those not yet committed included.
# Without git, or in a folder that git does not trust, everything outside build and runs.
sources() {
  [ $# -gt 0 ] || set -- '*'
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@" |
      while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done
  else
    local pattern
    for pattern; do
      find . \( -path './build*' -o -path ./runs -o -path ./.git \) -prune -o \
        -type f -name "$pattern" -printf '%P\n'
    done
  fi | sort -u
}
