#!/usr/bin/env bash
# kernels.sh [BUILD]: what nvcc made of the CUDA backend: for each source the processor time, its
# kernels, the most registers of one and the bytes spilled to memory. Fails if a kernel spills that
# tests/cuda/spills.txt does not explain. Budgets in brackets.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
build=${1:-build/release}
mapfile -t files < <(find "$build" -name '*.cu.o.usage' -path '*accrue_cuda.dir*' | sort)
[ ${#files[@]} -gt 0 ] || { echo "skipped: $build has no CUDA kernels built by nvcc"; exit 77; }

# One line a kernel: FILE ARCHITECTURE REGISTERS STACK SPILLED NAME
kernels=$(for file in "${files[@]}"; do
  awk -v file="$(basename "$file" .o.usage)" '
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
    /bytes stack frame/ { stack = $1; spilled = $5 + $9 }
    /Used [0-9]+ registers/ { match($0, /Used [0-9]+/)
                              print file, arch, substr($0, RSTART + 5, RLENGTH - 5), stack, spilled, name }
  ' "$file"
done | c++filt)

printf '%-26s %8s %8s %10s %8s\n' source seconds kernels registers spilled
total=0
for file in "${files[@]}"; do
  name=$(basename "$file" .o.usage)
  seconds=$(awk '/^cpu/ {printf "%.1f", $2 + $3}' "$file")
  total=$(awk "BEGIN {print $total + $seconds}")
  awk -v name="$name" -v seconds="$seconds" '
    $1 == name { ++n; if ($3 > most) most = $3; spilled += $5 }
    END { printf "%-26s %8s %8d %10d %8d\n", name, seconds, n, most, spilled }' <<< "$kernels"
done
architectures=$(awk '{print $2}' <<< "$kernels" | sort -u | wc -l)
echo "$total s of processor time for $architectures architectures  [90 for each]"

unexplained=0
while read -r file arch _ _ spilled name; do
  [ "$spilled" -gt 0 ] || continue
  short=${name%%<*}
  short=${short##*::}
  short=${short##* }
  if why=$(grep -m1 "^${short%%(*}:" tests/cuda/spills.txt); then
    echo "$file, $arch: $spilled bytes spilled, ${name:0:110}: ${why#*: }"
  else
    echo "$file, $arch: $spilled bytes spilled and not explained in tests/cuda/spills.txt: $name"
    unexplained=$((unexplained + 1))
  fi
done <<< "$kernels"
[ $unexplained = 0 ]
