#!/bin/sh
# A small Debian image with Python and tini, without a registry: base_image.sh TAG [SUITE]. Needs root, mmdebstrap, Docker.
# Its file system is kept in ${XDG_CACHE_HOME:-$HOME/.cache}/dispatch-ci; delete it at will.
set -eu
tag=$1
suite=${2:-bookworm}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dispatch-ci
kept=$cache/debian-$suite-$(cksum <"$0" | cut -d ' ' -f 1).tar   # another script makes another image
fail() { printf 'error: %s\n  do    %s\n' "$1" "$2" >&2; exit 1; }

# Packages are unpacked in memory where that can be had: a mount that nobody else sees, and that ends with the command.
in_memory='mount -t tmpfs -o mode=0755 tmpfs "$1" 2>/dev/null || :; export TMPDIR="$1"; shift; exec "$@"'

if [ ! -f "$kept" ]; then
  command -v mmdebstrap >/dev/null || fail "no mmdebstrap on this machine" "apt-get install mmdebstrap"
  [ "$(id -u)" -eq 0 ] || fail "an image is made from Debian's packages by root alone" "run this as root"
  mkdir -p "$cache"
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder" "$kept.$$"' EXIT
  trap 'exit 130' INT TERM
  mkdir "$folder/tree"
  printf '== image: Debian %s from its packages\n' "$suite"
  # wget: what the composition asks a NATS node's health with. usr-is-merged: else Perl comes along to merge it.
  unshare --mount sh -c "$in_memory" - "$folder/tree" \
    mmdebstrap --quiet --format=tar --variant=minbase --dpkgopt=force-unsafe-io \
    --hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr \
    --include=ca-certificates,python3-venv,tini,usr-is-merged,wget \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$kept.$$" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} </dev/null >"$folder/log" 2>&1 || {
    tail -n 20 "$folder/log" >&2
    fail "no Debian $suite could be made of its packages; the end of what mmdebstrap said is above" "see that its mirror can be reached"
  }
  rm -f "$cache/debian-$suite-"*.tar
  mv "$kept.$$" "$kept"
fi
docker import "$kept" "$tag" >/dev/null
