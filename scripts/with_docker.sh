#!/bin/sh
# Run a command with a Docker daemon: with_docker.sh COMMAND...  If none answers here, one of its own is started as root,
# keeps everything in a folder that is removed, and is ended with the command. Fails, saying why, if it does not start.
set -eu
docker info >/dev/null 2>&1 && exec "$@"

command -v dockerd >/dev/null || { printf 'error: docker: there is no dockerd here: install docker.io\n' >&2; exit 1; }
folder=$(mktemp -d)
export DOCKER_HOST="unix://$folder/docker.sock"
dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/pid" --host "$DOCKER_HOST" \
  >"$folder/log" 2>&1 &
daemon=$!
finish() {
  kill "$daemon" 2>/dev/null || :
  wait "$daemon" 2>/dev/null || :
  rm -rf --one-file-system "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

left=60
until docker info >/dev/null 2>&1; do
  left=$((left - 1))
  if [ "$left" -eq 0 ] || ! kill -0 "$daemon" 2>/dev/null; then
    printf 'error: docker: dockerd did not start; the end of its log:\n' >&2
    tail -n 20 "$folder/log" >&2
    exit 1
  fi
  sleep 1
done
"$@"
