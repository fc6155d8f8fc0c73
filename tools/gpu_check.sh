#!/usr/bin/env bash
# gpu_check.sh [BUILD]: everything worth checking on a real GPU, in at most four minutes: what the
# executor cannot tell (see docs/cuda.md). Each stage has its own limit and none stops the others; a
# table comes last, and the logs are in BUILD/gpu_check. Without a GPU the executor's half of each
# stage runs. Ends with 1 if a stage failed, or on a GPU had no time left.
#
#   GPU_CHECK_LIMIT=600 tools/gpu_check.sh    more time in all, for a machine that builds slowly
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 2
build=${1:-build/gpu}
limit=${GPU_CHECK_LIMIT:-240}
logs=$build/gpu_check
mkdir -p "$logs" || exit 2

rows=()
row() { rows+=("$(printf '%-26s %-8s %7s  %s' "$1" "$2" "$3" "$4")") && echo "${rows[-1]}"; }
failures=0

# stage NAME SECONDS COMMAND...: passed, failed or, with status 77, skipped. The last line that the
# command writes to file descriptor 3 is the note.
stage() {
  local name=$1 allowed=$2 start=$SECONDS status=0 note result=passed
  shift 2
  [ $((limit - SECONDS)) -ge "$allowed" ] || allowed=$((limit - SECONDS))
  if [ $allowed -lt 3 ]; then
    [ -z "$GPU" ] || failures=$((failures + 1))
    row "$name" "no time" 0 "nothing left of $limit s: GPU_CHECK_LIMIT=600 $0" && return 1
  fi
  timeout -k 2 "$allowed" bash -c '. "$0"; "$@"' "$logs/functions.sh" "$@" \
    > "$logs/$name.log" 2>&1 3> "$logs/$name.note" || status=$?
  note=$(tail -1 "$logs/$name.note")
  case $status in
    0) ;;
    77) result=skipped ;;
    124 | 137) result=failed note="longer than $allowed s; $note" ;;
    *) result=failed note=${note:-$(tail -1 "$logs/$name.log" | cut -c1-100)} ;;
  esac
  [ $result != failed ] || failures=$((failures + 1))
  row "$name" $result $((SECONDS - start)) "$note"
  [ $result = passed ]
}

# What the stages run, each in a shell of its own.
cat > "$logs/functions.sh" <<FUNCTIONS
set -uo pipefail
build=$build logs=$logs
FUNCTIONS
cat >> "$logs/functions.sh" <<'FUNCTIONS'
note() { echo "$*" >&3; }
skip() { note "$*"; exit 77; }
gpu() { [ -n "${GPU:-}" ] || skip "no GPU"; }
built() { [ -x "$1" ] || skip "$1 is not built"; }
tests=$build/tests/cuda

machine() {
  uname -r
  nvidia-smi || skip "no GPU: $("$build/bin/accrue" doctor 2>/dev/null | sed -n 's/^cuda *//p')"
  note "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -1)"
}

build_it() {  # build_it ARCHITECTURE: CUDA where there is nvcc, the executor in any case
  local launcher=() targets=(accrue_cli accrue_cli_on_executor accrue_gpu_check accrue_simt_test)
  ! command -v ccache || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake --preset release -B "$build" -DCMAKE_CUDA_ARCHITECTURES="$1" "${launcher[@]}" || exit 1
  if cmake --build "$build" --target help | grep -q accrue_gpu_bugs; then
    targets+=(accrue_gpu_bugs)
  fi
  if cmake --build "$build" --target help | grep -q accrue_bench_accumulation; then
    targets+=(accrue_bench_accumulation)
  fi
  cmake --build "$build" --target "${targets[@]}" || exit 1
  note "$(sed -n 's/^-- CUDA backend: //p' "$logs/build.log" | tail -1)"
}

# The tests that the executor runs, on silicon. Left out is what counts launches, and what needs a
# second device where there is none.
device_tests() {
  gpu
  built "$tests/accrue_gpu_test"
  local left_out='CudaBlas.*OurKernel*:CudaBlas.IsLeftAside*:CudaBlas.AFusedBias*'
  left_out+=':CudaBlas.AnAbsent*:CudaConv.WithoutThatLaw*:*OneLaunch:*TwoLaunches*'
  [ "$(nvidia-smi -L | wc -l)" -gt 1 ] || left_out+=':*OneDevice*:*BetweenDevices*:*EachDevice*'
  "$tests/accrue_gpu_test" --gtest_brief=1 --gtest_filter="-$left_out"
  local status=$?
  note "$(grep -E '^\[  (PASSED|FAILED)' "$logs/device_tests.log" | head -2 | tr -s '\n ' ' ')"
  return $status
}

against_the_cpu() {  # against_the_cpu PROGRAM FLAG...
  built "$1"
  "$@"
  local status=$?
  note "$(grep -E 'passed, .* reports' "$logs/$stage.log" | tail -1)"
  return $status
}
xcheck_gpu() { gpu; stage=xcheck_gpu against_the_cpu "$tests/accrue_xcheck"; }
xcheck_gpu_own() { gpu; stage=xcheck_gpu_own against_the_cpu "$tests/accrue_xcheck" --split-invariant; }
xcheck_executor() { stage=xcheck_executor against_the_cpu "$tests/accrue_xcheck_on_executor" --small; }

# same FILE FILE: hashes of the same rows; those whose numbers CUDA's own exp, log ... enter may
# differ, others may not.
same() {
  awk 'NR == FNR { hash[$1 " " $2] = $4; next }
       hash[$1 " " $2] == $4 { ++equal; next }
       { ++different; print $1, $2, $3; if ($3 == "exact" || $3 == "rounded") ++wrong }
       END { print equal + 0, "equal,", different + 0, "differ,", wrong + 0, "of them must not"
             exit equal == 0 || wrong > 0 }' "$1" "$2"
}
hashes() {  # hashes PROGRAM OUT FLAG...
  built "$1"
  "$1" --hash --small --split-invariant "${@:3}" > "$2"
}
determinism_gpu() {
  gpu
  for i in 1 2 3; do hashes "$tests/accrue_xcheck" "$logs/gpu.$i" || exit 1; done
  cmp "$logs/gpu.1" "$logs/gpu.2" && cmp "$logs/gpu.1" "$logs/gpu.3" || exit 1
  note "3 runs, $(wc -l < "$logs/gpu.1") rows, the same bits"
}
determinism_executor() {
  hashes "$tests/accrue_xcheck_on_executor" "$logs/executor.1" || exit 1
  hashes "$tests/accrue_xcheck_on_executor" "$logs/executor.2" --order random || exit 1
  cmp "$logs/executor.1" "$logs/executor.2" || exit 1
  note "2 schedules, $(wc -l < "$logs/executor.1") rows, the same bits"
}
executor_and_gpu() {
  gpu
  [ -s "$logs/gpu.1" ] && [ -s "$logs/executor.1" ] || skip "one of the two did not run"
  same "$logs/executor.1" "$logs/gpu.1" > "$logs/same"
  local status=$?
  cat "$logs/same"
  note "$(tail -1 "$logs/same")"
  return $status
}

sanitizer() {  # sanitizer TOOL
  gpu
  command -v compute-sanitizer || skip "no compute-sanitizer"
  built "$tests/accrue_xcheck"
  compute-sanitizer --tool "$1" --error-exitcode 9 "$tests/accrue_xcheck" --hash --small
  local status=$?
  note "$(grep -aE 'ERROR SUMMARY|RACECHECK SUMMARY' "$logs/$1.log" | tail -1)"
  return $status
}

# How many of the planted bugs NVIDIA's tools see; the executor sees all. Never a failure: it says
# what each is worth.
planted_bugs() {
  gpu
  command -v compute-sanitizer || skip "no compute-sanitizer"
  bugs=$build/tests/simt/device/accrue_gpu_bugs
  built "$bugs"
  export bugs
  "$bugs" list | grep -v '^[0-9]* - ' | xargs -P 8 -d '\n' -I{} bash -c '
    read -r number tool name <<< "$0"
    timeout 8 compute-sanitizer --tool "$tool" --error-exitcode 9 "$bugs" "$number" > /dev/null 2>&1
    echo "$number $tool $([ $? = 9 ] && echo seen || echo missed) $name"' {} |
    sort -k2 | tee "$logs/bugs"
  note "$(awk '{ ++all[$2]; seen[$2] += $3 == "seen" }
    END { for (t in all) printf "%s %d of %d  ", t, seen[t], all[t] }' "$logs/bugs")"
}

bugs_executor() {
  built "$build/tests/simt/accrue_simt_test"
  "$build/tests/simt/accrue_simt_test" --gtest_brief=1 || exit 1
  note "$("$build/tests/simt/accrue_simt_test" --gtest_list_tests --gtest_filter='*PlantedBug.*' |
    grep -c '^  ') runs of planted bugs, every bug caught"
}

training() {  # training DEVICE PROGRAM FLAG...
  built "$2"
  [ "$1" = cpu ] || gpu
  "${@:2}" || exit 1
  note "$(grep -oE 'test accuracy [0-9.]+%|[0-9.e+]+ training samples/s' "$logs/$stage.log" | tr '\n' ' ')"
}
training_gpu() {
  stage=training_gpu training cuda "$build/bin/accrue" train --device cuda --epochs 1
}
splits() {  # splits PROGRAM FLAG...: however a batch is cut, the gradients have the same bits
  local cuts identical
  built "$1"
  "$1" splits --device cuda --split-invariant "${@:2}" > "$logs/$stage.cuts" || exit 1
  cat "$logs/$stage.cuts"
  cuts=$(grep -cE '^ +[0-9]' "$logs/$stage.cuts")
  identical=$(grep -c 'identical bits' "$logs/$stage.cuts")
  note "$identical of $cuts cuts with identical bits"
  [ "$cuts" -gt 1 ] && [ "$identical" = "$cuts" ]
}
splits_gpu() { gpu; stage=splits_gpu splits "$build/bin/accrue" --seconds 0.5; }
splits_executor() {
  stage=splits_executor splits "$build/bin/accrue-simt" --batch 8 --counts 1,2,4,8 --seconds 0
}

throughput() {  # throughput DEVICE: samples/s by number of micro-batches, beside PyTorch
  local bench=$build/bench/accrue_bench_accumulation name=throughput_$1
  [ "$1" = cpu ] || gpu
  built "$bench"
  "$bench" --device "$1" --benchmark_filter='^accumulation/' --benchmark_min_time=0.2 \
    --benchmark_format=csv > "$logs/$name.csv" || exit 1
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i ~ /samples\/s/) column = i }
           /accumulation\/N:/ { split($1, part, ":"); printf "%d %.0f\n", part[2], $column }' \
    "$logs/$name.csv" | tee "$logs/$name.accrue"
  if python3 -c 'import torch' 2> /dev/null; then
    python3 bench/accumulation_torch.py "$1" | tee "$logs/$name.torch"
    note "$(join <(sort "$logs/$name.accrue") <(sort "$logs/$name.torch") | sort -n |
      awk '{ printf "N=%d %d against %d (%.2f)  ", $1, $2, $3, $2 / $3 }')"
  else
    note "$(awk '{ printf "N=%d %d  ", $1, $2 }' "$logs/$name.accrue")samples/s; no PyTorch"
  fi
}
FUNCTIONS

export GPU=
architecture=90a-real
if command -v nvidia-smi > /dev/null && nvidia-smi -L > /dev/null 2>&1; then
  GPU=1
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)-real
  [ "$architecture" != 90-real ] || architecture=90a-real
fi

stage build $((limit - 90)) build_it "$architecture"
stage machine 10 machine
stage device_tests 45 device_tests
stage xcheck_executor 40 xcheck_executor
stage xcheck_gpu 20 xcheck_gpu
stage xcheck_gpu_own 20 xcheck_gpu_own
stage determinism_executor 60 determinism_executor
stage determinism_gpu 20 determinism_gpu
stage executor_and_gpu 5 executor_and_gpu
stage training_gpu 20 training_gpu
stage splits_executor 30 splits_executor
stage splits_gpu 15 splits_gpu
stage throughput_cuda 30 throughput cuda
stage throughput_cpu 30 throughput cpu
for tool in memcheck racecheck initcheck synccheck; do stage $tool 40 sanitizer $tool; done
stage planted_bugs_executor 20 bugs_executor
stage planted_bugs_gpu 40 planted_bugs

printf '\n%-26s %-8s %7s  %s\n' stage result seconds note
printf '%s\n' "${rows[@]}" "total $SECONDS s, $failures failed"
[ $failures = 0 ]
