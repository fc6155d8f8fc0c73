#!/usr/bin/env bash
# measure.sh [BUILD]: what accrue costs before it does anything: the compile time of its one
# include, the size of the command, the time and memory of a process before the first tensor.
# Each is the best of five, as what else the machine does only adds. Budgets in brackets.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
build=${1:-build/release}
accrue=$build/bin/accrue
[ -x "$accrue" ] || { echo "$accrue is not built" >&2; exit 1; }
work=$build/measure
mkdir -p "$work"

best_ms() {  # best_ms COMMAND...: milliseconds of the fastest of five
  local best=999999 start end
  for _ in 1 2 3 4 5; do
    start=$(date +%s%N)
    "$@" >/dev/null
    end=$(date +%s%N)
    [ $(((end - start) / 10000)) -ge "$best" ] || best=$(((end - start) / 10000))
  done
  echo "$((best / 100)).$(printf %02d $((best % 100)))"
}

include=$(find "$build/include" -mindepth 1 -maxdepth 1 -not -name '*-internal' -printf '-I%p ')
echo '#include <accrue/accrue.h>' > "$work/include.cpp"
grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /processor                 /'
echo "include <accrue/accrue.h>  $(best_ms ${CXX:-c++} -std=c++20 $include -c "$work/include.cpp" -o "$work/include.o") ms  [2500]"
strip -o "$work/accrue" "$accrue"
echo "stripped accrue            $(stat -c %s "$work/accrue") bytes  [5000000, without CUDA]"
echo "process start and end      $(best_ms "$work/accrue" --version) ms  [20]"
if seconds=$(tools/kernels.sh "$build" | grep 'of processor time'); then
  echo "nvcc, the CUDA backend     $seconds"
fi
if [ -x /usr/bin/time ]; then  # not the shell's word, which knows no memory
  echo "memory before a tensor     $(/usr/bin/time -f %M "$work/accrue" --version 2>&1 >/dev/null) KiB  [10240]"
else
  echo "memory before a tensor     not measured (apt-get install time)"
fi
