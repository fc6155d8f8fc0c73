#!/usr/bin/env bash
# nvcc.sh NVCC ARGUMENT...: compiles, and leaves beside the object, in OBJECT.usage, what that cost
# and what ptxas says of each kernel; tools/kernels.sh reads it. The build of the tests calls it.
set -uo pipefail
object=
for ((i = 1; i < $#; ++i)); do
  if [ "${!i}" = -o ]; then j=$((i + 1)) object=${!j}; fi
done
[ -n "$object" ] || exec "$@"

TIMEFORMAT='cpu %U %S'
{ time "$@" --resource-usage > "$object.said" 2>&1; } 2> "$object.usage"
status=$?
ptxas='^ptxas info|bytes stack frame'
grep -E "$ptxas" "$object.said" >> "$object.usage"
grep -vE "$ptxas" "$object.said" >&2
rm -f "$object.said"
exit $status
