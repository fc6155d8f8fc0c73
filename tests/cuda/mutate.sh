#!/usr/bin/env bash
# mutate.sh BUILD [EVERY [SOURCE...]]: how many small bugs of our kernels do the tests notice?
#
# mutants.cpp plants them in kernels/cuda, all at once and asleep; each source is compiled once for
# the executor. Then every EVERY-th mutant is woken, and the tests of the files that its source is
# part of are run: those that fail have killed it. What survives them meets the table of operators.
# The survivors must be listed, with the reason, in survivors.txt, and at least 90 % must be killed.
set -euo pipefail
root=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
cd "$root"
build=$(readlink -f "$1") every=${2:-8}
sources=("${@:3}")
[ ${#sources[@]} -gt 0 ] || sources=(kernels/cuda/*.cu)
export root build out=$build/mutants
jobs=${ACCRUE_MUTANT_JOBS:-$(nproc)}
mkdir -p "$out/accrue/kernels/cuda"
: > "$out/left_out.txt"
c++ -std=c++20 -O1 tests/cuda/mutants.cpp -o "$out/mutants"
c++ -std=c++20 -O2 -I. -c tests/cuda/mutant.cpp -o "$out/mutant.o"

# The commands that made the tests, with the mutants' files in place of ours.
ninja -C "$build" -t commands accrue_cuda_test accrue_cuda_ops_test > "$out/commands.txt"
compile_one() {  # SOURCE [-fsyntax-only]
  local name=${1##*/} command
  command=$(grep -E -- "-c [^ ]*/kernels/cuda/$name\$" "$out/commands.txt" | head -1)
  command=${command/ -I/ -I$out -include $root/tests/cuda/mutant.h -I}
  command=$(sed -E "s| -M[DTF]( [^ ]*\.o(\.d)?)?||g; s| -o [^ ]*| -o $out/$name.o|
                    s|-c [^ ]*$|-w ${2:-} -c $out/$name|; s| -Werror||" <<< "$command")
  (cd "$build" && eval "$command") 2> "$out/$name.log"
}
link_one() {  # TARGET PROGRAM
  local command source
  command=$(grep -E -- "-o [^ ]*/$1 " "$out/commands.txt" | tail -1)
  for source in "${sources[@]}"; do
    command=$(sed -E "s|[^ ]*accrue_cuda_on_executor.dir/[^ ]*__/(${source##*/}\.o)|$out/\1|" <<< "$command")
    [[ $command == *"$out/${source##*/}.o"* ]]  # else it would be our kernel that is tested
  done
  command=$(sed -E "s| -o [^ ]*| $out/mutant.o -o $out/$2|" <<< "$command")
  (cd "$build" && eval "$command")
}
plant() {
  "$out/mutants" "$out" "$out/left_out.txt" kernels/cuda/*.cu kernels/cuda/*.cuh
  cp "$out"/*.cuh "$out/accrue/kernels/cuda/"
}

plant
waiting=("${sources[@]}")
while [ ${#waiting[@]} -gt 0 ]; do  # until the compiler takes what is planted
  export -f compile_one
  printf '%s\n' "${waiting[@]}" |
    xargs -P "$jobs" -I{} bash -c 'compile_one {} -fsyntax-only || echo {}' > "$out/refused.txt"
  mapfile -t waiting < "$out/refused.txt"
  [ ${#waiting[@]} -gt 0 ] || break
  before=$(wc -l < "$out/left_out.txt")
  for source in "${waiting[@]}"; do
    grep -oE '[a-z_]+\.cuh?:[0-9]+:[0-9]+: error' "$out/${source##*/}.log" | cut -d: -f1,2
  done | sort -u | cat "$out/left_out.txt" - | sort -u > "$out/more.txt"
  mv "$out/more.txt" "$out/left_out.txt"
  [ "$(wc -l < "$out/left_out.txt")" -gt "$before" ] || { cat "$out"/*.log | head -20; exit 1; }
  plant
done
printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I{} bash -c 'compile_one {}'
link_one accrue_cuda_test cuda_test
link_one accrue_cuda_ops_test ops_test

# The tests of a source: of the .cu files that include it, the file of tests of that name.
suites_of() {  # FILE
  local users=$1 more test
  while more=$(for f in $users; do echo "$f"; grep -lE "cuda/$f>" kernels/cuda/*.cu* | xargs -rn1 basename; done |
               sort -u | tr '\n' ' ') && [ "$more" != "$users" ]; do users=$more; done
  for f in $users; do
    [[ " ${sources[*]} " == *"/$f "* ]] || continue
    for test in tests/cuda/*_test.cpp; do
      test=${test##*/} test=${test%_test.cpp}
      case $f in "$test".cu | "$test"_*.cu) echo "tests/cuda/${test}_test.cpp" ;; esac
    done
    case $f in extremum.cu) echo tests/cuda/reduce_test.cpp ;; esac
  done | sort -u | xargs -r grep -ohE 'TEST(_F|_P)?\((\w+)' | sed -E 's/.*\(//' | sort -u |
    sed 's/.*/&.*:*\/&.*/' | paste -sd:
}
killed_by() {  # NUMBER PROGRAM FILTER
  local code=0
  {
    (ulimit -t 60  # of a processor, for loops without end
     ACCRUE_MUTANT=$1 "$out/$2" --gtest_filter="$3" --gtest_fail_fast --gtest_brief=1) || code=$?
  } > /dev/null 2>&1
  [ $code -lt 125 ] || [ $code -gt 127 ] || exit 255  # no test ran: xargs gives up
  [ $code != 0 ]
}
try_one() {  # NUMBER FILE LINE KIND CODE...
  local suites
  suites=$(cat "$out/suites.$2")
  if killed_by "$1" cuda_test "$suites"; then echo "killed tests $*"
  elif killed_by "$1" ops_test '*InFloat32*:*Forward.*:*AddRule.*'; then echo "killed table $*"
  else echo "survived - $*"; fi
}
for file in $(cut -d' ' -f2 "$out/mutants.txt" | sort -u); do
  suites_of "$file" > "$out/suites.$file"
done
export -f killed_by try_one
ACCRUE_MUTANT=0 "$out/cuda_test" --gtest_brief=1 > "$out/asleep.log" 2>&1 ||
  { tail -20 "$out/asleep.log"; echo "the tests fail though no mutant is awake"; exit 1; }
awk -v every="$every" -v out="$out" \
    '$1 % every == 0 && (getline suites < (out "/suites." $2)) > 0 {
       close(out "/suites." $2)
       if (suites != "") print
     }' \
    "$out/mutants.txt" | tr -d "\\\\\"'" | tr '\n' '\0' |
  xargs -0 -P "$jobs" -I{} bash -c 'set -f; try_one $1' _ {} | tee "$out/verdicts.txt" |
  awk '{ if (++n % 20 == 0) { print n " mutants tried"; fflush() } }'

total=$(wc -l < "$out/verdicts.txt") killed=$(grep -c ^killed "$out/verdicts.txt")
unlisted=0
while read -r _ _ number file line kind code; do
  if ! grep -qF -- "$file $kind $code" tests/cuda/survivors.txt; then
    unlisted=$((unlisted + 1))
    echo "survived: $file:$line $kind: $code (mutant $number)"
  fi
done < <(grep ^survived "$out/verdicts.txt")
echo "$killed of $total mutants are killed ($((100 * killed / total)) %); $unlisted survivors are not in survivors.txt"
[ $((100 * killed)) -ge $((90 * total)) ]
