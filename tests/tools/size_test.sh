#!/bin/sh
# size_test.sh STRIP BINARY COPY: the command, without its symbols, is smaller than 5 MB.
set -eu
"$1" -o "$3" "$2"
bytes=$(wc -c < "$3")
echo "$bytes bytes"
[ "$bytes" -lt 5000000 ]
