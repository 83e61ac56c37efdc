// Asks weir over gRPC whether a user may pass, with @grpc/grpc-js: see package.json.
import { randomUUID } from "node:crypto";
import process from "node:process";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const address = process.env.WEIR_GRPC ?? "127.0.0.1:8081";
const token = process.env.WEIR_TOKEN ?? "";
const milliseconds = 1000 * (process.env.WEIR_TIMEOUT ?? 0.5); // of all attempts
const proto = process.env.WEIR_PROTO ?? "../../api/proto/weir/v1/ratelimiter.proto";

const { weir } = grpc.loadPackageDefinition(loadSync(proto, { longs: Number, enums: String, defaults: true }));
const retryPolicy = {
  maxAttempts: 3,
  initialBackoff: "0.05s",
  maxBackoff: "0.2s",
  backoffMultiplier: 2,
  retryableStatusCodes: ["UNAVAILABLE"],
};
const config = JSON.stringify({ methodConfig: [{ name: [{ service: "weir.v1.RateLimiter" }], retryPolicy }] });
// One for the whole program.
const limiter = new weir.v1.RateLimiter(address, grpc.credentials.createInsecure(), { "grpc.service_config": config });

// check returns the answer of weir, or null where it cannot be asked. All attempts have
// one idempotency key, so that weir charges them once.
export function check(user, { cost = 1, timeout = milliseconds } = {}) {
  const metadata = new grpc.Metadata();
  metadata.set("idempotency-key", randomUUID());
  if (token) metadata.set("authorization", `Bearer ${token}`);
  const request = { identifier: user, dimension: "USER", endpoint: "/", cost };
  return new Promise((resolve, reject) => {
    limiter.checkRateLimit(request, metadata, { deadline: Date.now() + timeout }, (error, answer) => {
      if (!error) resolve(answer);
      else if ([grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED].includes(error.code)) resolve(null);
      else reject(error);
    });
  });
}

const answer = await check(process.argv[2]);
if (answer === null) console.log("no answer: let it pass, uncounted");
else if (answer.allowed) console.log("pass, remaining:", answer.remaining);
else console.log("deny, retry after:", answer.retryAfter);
limiter.close();
