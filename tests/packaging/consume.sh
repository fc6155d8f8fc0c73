#!/usr/bin/env bash
# consume.sh HOW [FLAVOUR]: uses accrue as a stranger would, from outside the tree, and expects
# the consumer's own check to pass. CMake sets CMAKE, CXX, SOURCE, BUILD, WORK, LAUNCHER, CUDA
# and NVCC.
set -euo pipefail
how=$1
flavour=${2:-}
consumer=$SOURCE/tests/packaging/consumer
here=$WORK/$how-$flavour

fresh() { rm -rf "$1" && mkdir -p "$1"; }

configure() {  # configure BUILD_FOLDER ARG...
  local folder=$1
  shift
  "$CMAKE" -S "$consumer" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER" "$@"
}

run() {  # run PROGRAM: it works, has the CUDA kernels of the build, and asks for no library of CUDA
  "$1" | tee "$here/output"
  if [ "$CUDA" = TRUE ]; then
    grep -q '^cuda is built' "$here/output"
  else
    grep -q '^cuda is not built' "$here/output"
  fi
  if ldd "$1" | grep -iE 'libcu|nvidia'; then echo "it needs a library of CUDA" && exit 1; fi
}

build_and_run() {  # build_and_run BUILD_FOLDER ARG...
  configure "$@"
  "$CMAKE" --build "$1"
  run "$1/consumer"
}

with_pkg_config() {  # with_pkg_config PREFIX OUTPUT
  local pc flags
  pc=$(dirname "$(find "$1" -name accrue.pc)")
  flags=$(PKG_CONFIG_PATH=$pc pkg-config --static --cflags --libs accrue)
  eval "'$CXX' '$consumer/main.cpp' -o '$2' $flags"  # eval: pkg-config quotes spaces for a shell
  run "$2"
}

# For CMake: a machine on which there is no nvcc.
no_nvcc=-DCMAKE_IGNORE_PATH=/usr/local/cuda/bin
while IFS= read -r nvcc; do
  no_nvcc+=";$(dirname "$nvcc");$(dirname "$(readlink -f "$nvcc")")"
done < <(type -ap nvcc || true)

fresh "$here"
case $how in
  install)  # install COMPONENT FLAVOUR: here is where the others look
    prefix=$WORK/prefix-$3
    fresh "$prefix"
    for component in accrue_headers "$flavour"; do
      "$CMAKE" --install "$BUILD" --prefix "$prefix" --component "$component"
    done
    ;;
  find_package)
    build_and_run "$here" -DCMAKE_PREFIX_PATH="$WORK/prefix-$flavour"
    if [ "$flavour" = shared ]; then  # and it is the shared one that was used
      ldd "$here/consumer" | grep -F "$WORK/prefix-shared"
    fi
    ;;
  pkg_config)
    with_pkg_config "$WORK/prefix-$flavour" "$here/consumer"
    ;;
  own_runtime)
    # A CUDA program with a runtime of its own, static or shared, beside the one inside accrue.
    pc=$(dirname "$(find "$WORK/prefix-$flavour" -name accrue.pc)")
    for runtime in static shared; do
      # shellcheck disable=SC2046
      "$NVCC" -cudart $runtime -std=c++20 "$consumer/own_runtime.cu" -o "$here/$runtime" \
        $(PKG_CONFIG_PATH=$pc pkg-config --static --cflags --libs accrue | sed 's/-pthread//')
      LD_LIBRARY_PATH=$(dirname "$(dirname "$(readlink -f "$NVCC")")")/lib64 "$here/$runtime"
    done
    ;;
  moved)
    cp -r "$WORK/prefix-$flavour" "$here/first"
    mv "$here/first" "$here/second"
    build_and_run "$here/build" -DCMAKE_PREFIX_PATH="$here/second"
    with_pkg_config "$here/second" "$here/consumer"
    ;;
  spaced)
    cp -r "$WORK/prefix-$flavour" "$here/a prefix"
    build_and_run "$here/a build" -DCMAKE_PREFIX_PATH="$here/a prefix"
    with_pkg_config "$here/a prefix" "$here/a consumer"
    ;;
  versions)
    major_minor=$(sed -n 's/.*define ACCRUE_VERSION "\([0-9]*\.[0-9]*\).*/\1/p' \
      "$WORK/prefix-$flavour/include/accrue/version.h")
    configure "$here/same" -DCMAKE_PREFIX_PATH="$WORK/prefix-$flavour" -DWANTED="$major_minor"
    next=${major_minor%.*}.$((${major_minor#*.} + 1))
    if configure "$here/next" -DCMAKE_PREFIX_PATH="$WORK/prefix-$flavour" -DWANTED="$next"; then
      echo "version $next was asked for and $major_minor was accepted"
      exit 1
    fi
    ;;
  no_absolute_path)
    # -I: text only. A system folder may be named, a folder of the build may not.
    if grep -rInE "$SOURCE/|$BUILD/|$WORK/|/(home|root)/" "$WORK"/prefix-*; then
      echo "an installed file names the machine it was built on"
      exit 1
    fi
    ;;
  options)
    # What cannot be had is refused with a sentence, before anything is built.
    unset CUDACXX
    refused() {  # refused ARG... TEXT
      if "$CMAKE" -S "$SOURCE" -B "$here" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" "${@:1:$#-1}" \
          > "$here/log" 2>&1; then
        echo "$1 was accepted" && exit 1
      fi
      tr -s '\n ' ' ' < "$here/log" | grep -F "${*: -1}"
      rm -f "$here/CMakeCache.txt"
    }
    refused -DACCRUE_CUDA=ON "$no_nvcc" "but no working nvcc was found"
    CUDACXX=$(command -v false) refused -DACCRUE_CUDA=ON "but no working nvcc was found"
    refused -DACCRUE_CUDA=ON -DACCRUE_SANITIZE=address "cannot be combined"
    refused -DACCRUE_CUDA=MAYBE "it can be AUTO, ON or OFF"
    refused "-DACCRUE_SANITIZE=address;thread" "address and thread cannot be combined"
    refused -DACCRUE_SANITIZE=memory "it is a list of address, undefined, thread"
    ;;
  cpu_only)
    # Without a working nvcc, or without a wish for it, accrue is configured without a word of it.
    unset CUDACXX
    silent() {  # silent ARG...
      "$CMAKE" -S "$SOURCE" -B "$here/build" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
        -DACCRUE_BUILD_TESTS=OFF -DACCRUE_BUILD_BENCH=OFF "$@" > "$here/log" 2>&1
      if grep -iE 'cuda|nvcc' "$here/log"; then echo "$*: a word too many" && exit 1; fi
      "$CMAKE" --build "$here/build" --target help > "$here/targets"
      if grep accrue_cuda "$here/targets"; then echo "$*: CUDA is built" && exit 1; fi
      rm -r "$here/build"
    }
    silent -DACCRUE_CUDA=OFF
    silent "$no_nvcc"
    CUDACXX=$(command -v false) silent
    ;;
  headers)
    # Every installed header: it includes nothing that stayed behind.
    (cd "$WORK/prefix-$flavour/include" && find accrue -name '*.h' | sort |
      sed 's/.*/#include <&>/') > "$here/all.cpp"
    "$CXX" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$WORK/prefix-$flavour/include" \
      "$here/all.cpp"
    ;;
  each_header)
    # Every installed header, alone: it includes what it needs.
    find "$WORK/prefix-$flavour/include" -name '*.h' -print0 | xargs -0 -P "$(nproc)" -I{} \
      "$CXX" -std=c++20 -Wall -Wextra -Werror -fsyntax-only \
      -I"$WORK/prefix-$flavour/include" -x c++ -include {} /dev/null
    ;;
  subdirectory)
    # The wiring: a fetched accrue brings its targets and includes, and none of its own tests or
    # tools. Building all of it again takes a while: that is subdirectory_built.
    # (With CUDA the consumer's object waits for accrue's own.)
    configure "$here" -DACCRUE_SOURCE="$SOURCE"
    configure "$here" -DACCRUE_SOURCE="$SOURCE" -DACCRUE_CUDA=OFF
    "$CMAKE" --build "$here" --target CMakeFiles/consumer.dir/main.cpp.o
    if "$CMAKE" --build "$here" --target help | grep -E "accrue_.*_test|accrue_cli|bench"; then
      echo "a subproject builds accrue's own tools or tests"
      exit 1
    fi
    ;;
  subdirectory_built)
    # Unoptimised, and for one instruction set, to be done sooner.
    CUDA=FALSE build_and_run "$here" -DACCRUE_SOURCE="$SOURCE" -DACCRUE_CUDA=OFF \
      -DCMAKE_CXX_FLAGS="-O0 -DHWY_COMPILE_ONLY_STATIC"
    ;;
  *)
    echo "consume.sh: unknown: $how"
    exit 2
    ;;
esac
