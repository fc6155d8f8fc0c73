#!/bin/sh
# size_test.sh STRIP BINARY COPY MOST: the command, without its symbols, is smaller than MOST bytes.
set -eu
"$1" -o "$3" "$2"
bytes=$(wc -c < "$3")
echo "$bytes bytes"
[ "$bytes" -lt "$4" ]
