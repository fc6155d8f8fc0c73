#!/usr/bin/env bash
# setup_test.sh FOLDER: what demo and check do on machines that are not this one. A folder of
# stand-ins takes the place of apt, dpkg, id and sudo; nothing is installed.
set -euo pipefail
setup=$(dirname "$(readlink -f "$0")")/../../tools/setup.sh
stub=$1/bin
log=$1/log
real_bash=$(command -v bash)

machine() {  # machine INSTALLED_PACKAGE...: a Debian, seen by root
  rm -rf "${stub%/bin}"
  mkdir -p "$stub"
  local tool
  for tool in mktemp rm tail env; do ln -s "$(command -v $tool)" "$stub/$tool"; done
  says id 'echo 0'
  says sudo 'exit 1'
  says apt-get "echo \"apt-get \$*\" >> '$log'"
  says dpkg-query "case \" $* \" in *\" \${@: -1} \"*) printf installed ;; *) exit 1 ;; esac"
}
says() {  # says COMMAND BODY
  printf '#!%s\n%s\n' "$real_bash" "$2" > "$stub/$1"
  chmod +x "$stub/$1"
}
install() {  # install PACKAGE...: the output, and the status in `status`
  status=0
  output=$(PATH=$stub "$real_bash" -euc '. "$1"; shift; install_missing "$@"' demo "$setup" "$@" \
    2>&1 </dev/null) || status=$?
}
expect() {  # expect STATUS TEXT
  if [ "$status" != "$1" ] || [[ "$output" != *"$2"* ]]; then
    echo "expected status $1 and \"$2\"; got $status and \"$output\"" && exit 1
  fi
}
machine zlib1g-dev libfmt-dev
install zlib1g-dev libfmt-dev
expect 0 ""
[ -z "$output" ] && [ ! -e "$log" ] || { echo "it was all there, yet: $output"; exit 1; }

machine zlib1g-dev
install zlib1g-dev libhwy-dev ninja-build:ninja
expect 0 "Installing with apt: libhwy-dev ninja-build"
grep -q "^apt-get install -y --no-install-recommends libhwy-dev ninja-build$" "$log"

says apt-get 'echo "E: no such package"; exit 100'
install libhwy-dev
expect 1 "E: no such package"
expect 1 "apt could not install: libhwy-dev"

says id 'echo 1000'
install libhwy-dev
expect 1 "apt-get install --no-install-recommends libhwy-dev"

rm "$stub/apt-get"
install zlib1g-dev libhwy-dev
expect 1 "this machine has none"
expect 1 "  libhwy-dev"
rm -rf "${stub%/bin}"
echo "there, missing, refused by apt, not root, no apt: each as it should"
