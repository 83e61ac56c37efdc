"""Asks weir whether a user may pass, with the standard library alone."""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("WEIR_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("WEIR_TOKEN", "")
TIMEOUT = float(os.environ.get("WEIR_TIMEOUT", "0.5"))  # of one attempt, in seconds


def check(user, cost=1, attempts=3, timeout=TIMEOUT):
    """Returns the answer of weir, or None where it cannot be asked.

    All attempts have one idempotency key, so that weir charges them once.
    """
    body = {"identifier": user, "dimension": "USER", "endpoint": "/", "cost": cost}
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    if TOKEN:
        headers["Authorization"] = "Bearer " + TOKEN
    request = urllib.request.Request(URL + "/api/v1/check", json.dumps(body).encode(), headers)
    for attempt in range(attempts):
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            if error.code == 429 and '"allowed"' in text:
                return json.loads(text)  # denied: a decision, and no error
            if error.code != 503:
                raise RuntimeError(f"weir: {error.code} {text}") from error
        except (OSError, http.client.HTTPException):  # no connection, no answer in time, or half of one
            pass
        time.sleep(0.05 * 2**attempt)
    return None


if __name__ == "__main__":
    answer = check(sys.argv[1])
    if answer is None:
        print("no answer: let it pass, uncounted")
    elif answer["allowed"]:
        print("pass, remaining:", answer["remaining"])
    else:
        print("deny, retry after:", answer["retry_after"])
