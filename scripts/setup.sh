#!/bin/sh
# Make a virtual environment from requirements.lock: setup.sh PYTHON VENV
# Needs a python3 of 3.11 or newer and the network. Every download is checked against its hash.
set -eu
python=$1
venv=$2

say() { printf '== setup: %s\n' "$1"; }
fail() { printf 'error: %s\n  do    %s\n' "$1" "$2" >&2; exit 2; }

command -v "$python" >/dev/null 2>&1 ||
  fail "no $python on this machine" "install Python 3.11 or newer, or say which: make setup PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$python" --version) is too old" "install Python 3.11 or newer, or say which: make setup PYTHON=/path/to/python3"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python cannot make virtual environments (no ensurepip)" "on Debian and Ubuntu: apt-get install python3-venv"

say "virtual environment in $venv ($("$python" --version))"
"$python" -m venv "$venv"
say "packages from requirements.lock, with hashes"
# nkeys comes as source: its build tool is installed first, from the same lock, so that no build fetches anything unchecked.
builder=$(mktemp)
trap 'rm -f "$builder"' EXIT
awk '/^setuptools==/ { found = 1 } found { print } found && !/\\$/ { exit }' requirements.lock >"$builder"
install() { "$venv/bin/python" -m pip install --quiet --no-compile "$@"; }
install --require-hashes -r "$builder"
install --require-hashes --no-build-isolation -r requirements.lock
say "dispatch itself, from this checkout"
install --no-deps --no-build-isolation --no-index --editable .
say "done: $venv/bin/dispatch"
