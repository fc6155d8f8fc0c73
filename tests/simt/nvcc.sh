#!/usr/bin/env bash
# nvcc.sh NVCC INCLUDE FILE...: each file compiles for a device, with warnings as errors.
set -euo pipefail
nvcc=$1 include=$2
shift 2
for file; do
  "$nvcc" -std=c++20 -arch=sm_80 -Werror all-warnings -I "$include" -I ../.. -c -o /dev/null "$file"
  echo "$file compiles"
done
