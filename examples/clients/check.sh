#!/bin/sh
# Asks weir whether a user may pass. $1 is the user.
set -eu
url=${WEIR_URL:-http://127.0.0.1:8080}
body="{\"identifier\": \"$1\", \"dimension\": \"USER\", \"endpoint\": \"/\"}"

status=$(curl --silent --max-time "${WEIR_TIMEOUT:-1}" --output /dev/null --write-out '%{http_code}' \
	${WEIR_TOKEN:+--header "Authorization: Bearer $WEIR_TOKEN"} \
	--header "Content-Type: application/json" --data "$body" "$url/api/v1/check") || true
case "$status" in
200) echo "pass" ;;
429) echo "deny" ;;
000 | 503) echo "no answer: let it pass, uncounted" ;;
*) echo "weir: $status" >&2 && exit 1 ;;
esac
