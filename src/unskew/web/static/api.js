// One call of the JSON interface. A refusal is a Refused with its status; anything else that goes wrong is no answer.

class Refused extends Error {
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

export const denied = (error) => error.status === 401 || error.status === 403;

// What our server says once it has judged the request. All else, also from something in between, is worth another try.
export const judged = (error) => [409, 413, 422].includes(error.status);
