#!/bin/sh
# A Debian image without a registry: base_image.sh TAG [SUITE]. Needs root, debootstrap and Docker.
# Its file system is kept in ${XDG_CACHE_HOME:-$HOME/.cache}/dispatch-ci; delete it at will.
set -eu
tag=$1
suite=${2:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dispatch-ci
kept=$cache/debian-$suite.tar

make_tree() {
  # Python not by debootstrap itself: it cannot order what Python depends on.
  debootstrap --variant=minbase "$suite" "$1" "$mirror" &&
    chroot "$1" apt-get update -q &&
    chroot "$1" apt-get install -y -q --no-install-recommends ca-certificates python3-venv tini wget &&
    chroot "$1" apt-get clean
}

if [ ! -f "$kept" ]; then
  mkdir -p "$cache"
  folder=$(mktemp -d)
  trap 'umount "$folder/tree/proc" 2>/dev/null || :; rm -rf --one-file-system "$folder"' EXIT
  printf '== image: debootstrap %s\n' "$suite"
  DEBIAN_FRONTEND=noninteractive make_tree "$folder/tree" >"$folder/log" 2>&1 || {
    tail -n 20 "$folder/log" >&2
    exit 1
  }
  rm -rf "$folder"/tree/var/lib/apt/lists/*
  tar -C "$folder/tree" -cf "$kept.new" .
  mv "$kept.new" "$kept"
fi
docker import "$kept" "$tag" >/dev/null
