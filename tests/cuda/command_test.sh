#!/bin/sh
# command_test.sh ACCRUE_SIMT ACCRUE: the command on the executor's device trains on real images,
# and nothing is found wrong with its kernels; without a device it says so in one line.
set -eu
folder=${ACCRUE_DATA:-/usr/share/datasets/fashion-mnist}
if said=$("$2" train --device cuda --limit 1 --epochs 1 2>&1 >/dev/null); then
  echo "this machine has a device: $2 trained on it"
else
  echo "$said"
  [ "$(printf '%s\n' "$said" | wc -l)" = 1 ]
  case $said in "accrue: cuda: "*"; use the cpu"*) ;; *) exit 1 ;; esac
fi
if ! [ -e "$folder/train-images-idx3-ubyte.gz" ]; then
  echo "skipped: Fashion-MNIST is not in $folder; install it: apt-get install dataset-fashion-mnist"
  exit 77
fi
said=$("$1" train --device cuda --data fashion-mnist --model mlp --micro-batch 32 --accumulate 4 \
       --limit 512 --epochs 1 2>&1)
printf '%s\n' "$said" | tail -2
case $said in *simt:*) printf '%s\n' "$said" && exit 1 ;; esac
case $said in *", 4 optimizer steps in "*) ;; *) exit 1 ;; esac
