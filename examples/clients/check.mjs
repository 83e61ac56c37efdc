// Asks weir whether a user may pass, with what Node 18 and newer, Deno and Bun have.
import { randomUUID } from "node:crypto";
import process from "node:process";

const url = process.env.WEIR_URL ?? "http://127.0.0.1:8080";
const token = process.env.WEIR_TOKEN ?? "";
const milliseconds = 1000 * (process.env.WEIR_TIMEOUT ?? 0.5); // of one attempt

// check returns the answer of weir, or null where it cannot be asked. All attempts have
// one idempotency key, so that weir charges them once.
export async function check(user, { cost = 1, attempts = 3, timeout = milliseconds } = {}) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": randomUUID() };
  if (token) headers.Authorization = `Bearer ${token}`;
  const body = JSON.stringify({ identifier: user, dimension: "USER", endpoint: "/", cost });
  for (let attempt = 0; attempt < attempts; attempt++) {
    let status = 503;
    let text = "";
    try {
      const reply = await fetch(`${url}/api/v1/check`, { method: "POST", headers, body, signal: AbortSignal.timeout(timeout) });
      text = await reply.text();
      status = reply.status;
    } catch {
      // no connection, or no answer in time
    }
    if (status === 200) return JSON.parse(text);
    if (status === 429 && text.includes('"allowed"')) return JSON.parse(text); // denied: a decision, and no error
    if (status !== 503) throw new Error(`weir: ${status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt));
  }
  return null;
}

const answer = await check(process.argv[2]);
if (answer === null) console.log("no answer: let it pass, uncounted");
else if (answer.allowed) console.log("pass, remaining:", answer.remaining);
else console.log("deny, retry after:", answer.retry_after);
