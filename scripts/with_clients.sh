#!/bin/sh
# Run a command with the programs of the tier services on its PATH: with_clients.sh COMMAND...
# The nats program is built from its Go module and the Node.js client taken from npm, both once, outside the checkout.
# Needs go, node and npm, and the network the first time.
set -eu
NATSCLI=v0.5.0
here=$(cd "$(dirname "$0")/.." && pwd)
kept=${XDG_CACHE_HOME:-$HOME/.cache}/dispatch-clients

for program in go node npm; do
  command -v "$program" >/dev/null || { printf 'error: no %s on this machine\n  do    install it: the tier services needs it\n' "$program" >&2; exit 2; }
done
if [ ! -x "$kept/$NATSCLI/nats" ]; then
  printf '== clients: the nats program %s, from its Go module\n' "$NATSCLI"
  GOBIN="$kept/$NATSCLI" go install "github.com/nats-io/natscli/nats@$NATSCLI"
fi
if ! cmp -s "$here/examples/node/package-lock.json" "$kept/node/package-lock.json"; then
  printf '== clients: the Node.js client, from npm\n'
  mkdir -p "$kept/node"
  cp "$here/examples/node/package.json" "$here/examples/node/package-lock.json" "$kept/node/"
  (cd "$kept/node" && npm ci --silent --no-audit --no-fund)
fi
export PATH="$kept/$NATSCLI:$PATH" DISPATCH_TEST_NODE_MODULES="$kept/node/node_modules"
exec "$@"
