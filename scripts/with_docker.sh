#!/bin/sh
# Run a command with a Docker daemon: with_docker.sh COMMAND...  The one that answers here is used. If none does, one is
# started as root, with mounts, processes and a network of its own: it changes nothing of this machine, reaches nothing
# outside, and everything of it ends with the command. Fails, saying why, if it does not start.
set -eu
if timeout 20 docker info >/dev/null 2>&1; then exec "$@"; fi
fail() { printf 'error: docker: %s\n  do    %s\n' "$1" "$2" >&2; exit 1; }

for program in docker dockerd unshare setpriv; do
  command -v "$program" >/dev/null || fail "no daemon answers, and there is no $program here to start one" \
    "on Debian: apt-get install docker.io iptables util-linux"
done
[ "$(id -u)" -eq 0 ] || fail "no daemon answers, and only root can start one" "run this as root, or start Docker"

folder=$(mktemp -d)
export DOCKER_HOST="unix://$folder/docker.sock"
daemon=

# Process 1 of the daemon's own world, in which it also reaps what containers leave behind.
# A kernel may have one of two packet filters: the iptables that works is put first. A bare machine may have no cgroups.
# shellcheck disable=SC2016
world='
folder=$1; shift
iptables --list >/dev/null 2>&1 || for kind in legacy nft; do
  if "iptables-$kind" --list >/dev/null 2>&1; then
    mkdir -p "$folder/bin"
    for name in iptables ip6tables; do ln -sf "$(command -v "$name-$kind")" "$folder/bin/$name"; done
    break
  fi
done
grep -q " /sys/fs/cgroup" /proc/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup
PATH=$folder/bin:$PATH
dockerd "$@" &
wait $!
printf "dockerd ended with %s\n" "$?"
'

start() {
  setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child --mount-proc sh -c "$world" - "$folder" \
    --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/pid" --host "$DOCKER_HOST" \
    --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/dispatch-$$" "$@" >"$folder/log" 2>&1 &
  daemon=$!
  left=45
  until timeout 5 docker info >/dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -eq 0 ] || ! kill -0 "$daemon" 2>/dev/null; then return 1; fi
    sleep 1
  done
}

# A group can be removed once its last process is gone: true when none of ours is left.
remove_cgroups() {
  find /sys/fs/cgroup -depth -type d -path "*/dispatch-$$*" -exec rmdir {} + 2>/dev/null || :
  [ -z "$(find /sys/fs/cgroup -type d -name "dispatch-$$" 2>/dev/null)" ]
}

# Killed with its process 1, every process of the daemon's world is gone, and with them its mounts and its network.
stop() {
  kill -KILL "$daemon" 2>/dev/null || :
  wait "$daemon" 2>/dev/null || :
  left=50
  until rm -rf --one-file-system "$folder/data" "$folder/exec" 2>/dev/null && remove_cgroups || [ "$left" -eq 0 ]; do
    left=$((left - 1))
    sleep 0.2
  done
}
trap 'stop; rm -rf --one-file-system "$folder"' EXIT
trap 'exit 130' INT TERM

# vfs copies every layer: slow, but any file system can keep it.
for storage in '' --storage-driver=vfs; do
  # shellcheck disable=SC2086
  if start $storage; then
    "$@"
    exit
  fi
  printf 'docker: dockerd%s did not start; the end of its log:\n' "${storage:+ $storage}" >&2
  tail -n 20 "$folder/log" >&2
  stop
done
fail "dockerd did not start; its log is above" "start Docker, or mend what the log names"
