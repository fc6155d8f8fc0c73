#!/usr/bin/env bash
# layers.sh CXX INCLUDE LAYERS: from each layer, tries to include a header of each other layer.
# It must work for the layers below and for no other. The order is written here a second time, on
# purpose: a BELOW added by accident in a CMakeLists.txt fails.
set -euo pipefail
cxx=$1 include=$2 layers=$3

below() {
  case $1 in
    core) echo "" ;;
    kernels | io) echo "core" ;;
    autograd | optim) echo "core kernels" ;;
    nn) echo "core kernels autograd" ;;
    *) echo "layers.sh does not know the layer $1" >&2 && exit 1 ;;
  esac
}

failures=0
tried=0
while read -r layer flags; do
  lower=$(below "$layer")
  while read -r other _; do
    header=$(cd "$include/$other" && find accrue -name '*.h' | sort | head -1)
    expected=no
    case " $layer $lower " in *" $other "*) expected=yes ;; esac
    found=no
    if echo "#include <$header>" | eval "'$cxx' -std=c++20 $flags -x c++ -E -o /dev/null -" 2>/dev/null
    then found=yes; fi
    tried=$((tried + 1))
    if [ $found != $expected ]; then
      echo "$layer includes <$header>: $found, expected $expected"
      failures=$((failures + 1))
    fi
  done < "$layers"
done < "$layers"
echo "$tried includes tried, $failures wrong"
[ $failures = 0 ] && [ $tried -gt 0 ]
