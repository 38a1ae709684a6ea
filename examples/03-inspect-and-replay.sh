#!/bin/sh
# Where did the tokens of a session go, and what would a smaller window have done to it?
#
#   examples/03-inspect-and-replay.sh session.jsonl
set -eu
session="$1"
npx plimsoll inspect "$session"
npx plimsoll replay "$session" --window 32k --check
