# shellcheck shell=bash disable=SC2034
# Sourced by demo and check: tells what the build needs, and installs what is missing.

# The Debian packages of a task; the first word is the package, the second a command that proves
# it is there without asking dpkg (another package may provide it).
build_packages="g++:c++ cmake:cmake ninja-build:ninja libhwy-dev zlib1g-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev dataset-fashion-mnist"
test_packages="libgtest-dev libgmock-dev libbenchmark-dev pkg-config:pkg-config git:git"

have() {  # have PACKAGE[:COMMAND]
  case $1 in
    *:*) command -v "${1#*:}" >/dev/null 2>&1 ;;
    *) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
  esac
}

# install_missing PACKAGE[:COMMAND]...: installs through apt what is not there, and says what.
install_missing() {
  local missing=() entry
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    {
      echo "$0 installs what it needs with apt, and this machine has none. Please install"
      echo "the likes of these Debian packages:"
      for entry; do echo "  ${entry%:*}"; done
      echo "and then build with: cmake --preset release && cmake --build --preset release"
    } >&2
    exit 1
  fi
  for entry; do have "$entry" || missing+=("${entry%:*}"); done
  [ ${#missing[@]} = 0 ] && return

  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    # Without a terminal sudo could not ask for a password, so it must not need one.
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      echo "$0 needs packages that are not installed; as root, please run" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "Installing with apt: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
           apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -20 "$log" >&2
    rm -f "$log"
    echo "$0: apt could not install: ${missing[*]}" >&2
    exit 1
  fi
  rm -f "$log"
}

# configure PRESET CMAKE_OPTION...: quietly, unless it fails. ccache is used where there is one.
configure() {
  local preset=$1 log
  shift
  if command -v ccache >/dev/null; then set -- "$@" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  mkdir -p "build/$preset"
  log=build/$preset/configure.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "$0: the configuration of build/$preset failed; the log is $log" >&2
    exit 1
  fi
}
