// One call of the JSON interface. A refusal is a Refused with its status; anything else that goes wrong is no answer.

export class Refused extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const PATIENCE = 15_000; // a connection that hangs is a lost one

export async function call(method, path, body) {
  const csrf = document.querySelector("meta[name=csrf]");
  const headers = { "Content-Type": "application/json" };
  if (csrf) headers["X-CSRF-Token"] = csrf.content;
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const refusal = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, refusal.detail || `the server answered ${answer.status}`, Number(answer.headers.get("Retry-After")) || 0);
}

// Worth another try: no answer at all, too many requests, or a server in trouble.
export function passing(error) {
  return !(error instanceof Refused) || error.status === 429 || error.status >= 500;
}
