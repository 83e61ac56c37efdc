"""Asks weir over gRPC whether a user may pass, with grpcio.

The messages come from api/proto, in the folder that has it:

    python -m grpc_tools.protoc -I api/proto --python_out=. weir/v1/ratelimiter.proto
"""

import json
import os
import sys
import uuid

import grpc
from weir.v1 import ratelimiter_pb2 as weir

ADDRESS = os.environ.get("WEIR_GRPC", "127.0.0.1:8081")
TOKEN = os.environ.get("WEIR_TOKEN", "")
TIMEOUT = float(os.environ.get("WEIR_TIMEOUT", "0.5"))  # of all attempts, in seconds

RETRY = {
    "maxAttempts": 3,
    "initialBackoff": "0.05s",
    "maxBackoff": "0.2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
CONFIG = json.dumps({"methodConfig": [{"name": [{"service": "weir.v1.RateLimiter"}], "retryPolicy": RETRY}]})

channel = grpc.insecure_channel(ADDRESS, [("grpc.service_config", CONFIG)])  # one for the whole program
check_rate_limit = channel.unary_unary(
    "/weir.v1.RateLimiter/CheckRateLimit", weir.CheckRequest.SerializeToString, weir.CheckResponse.FromString
)


def check(user, cost=1, timeout=TIMEOUT):
    """Returns the answer of weir, or None where it cannot be asked.

    All attempts have one idempotency key, so that weir charges them once.
    """
    metadata = [("idempotency-key", str(uuid.uuid4()))]
    if TOKEN:
        metadata.append(("authorization", "Bearer " + TOKEN))
    request = weir.CheckRequest(identifier=user, dimension=weir.USER, endpoint="/", cost=cost)
    try:
        return check_rate_limit(request, timeout=timeout, metadata=metadata)
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return None
        raise


if __name__ == "__main__":
    answer = check(sys.argv[1])
    if answer is None:
        print("no answer: let it pass, uncounted")
    elif answer.allowed:
        print("pass, remaining:", answer.remaining)
    else:
        print("deny, retry after:", answer.retry_after)
