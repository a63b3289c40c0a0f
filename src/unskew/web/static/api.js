// One call of the JSON interface. A refusal is thrown as a Refused with its status; other errors mean that no answer came.

class Refused extends Error {
  constructor(status, { detail, lasting }, retryAfter) {
    super(detail || `the server answered ${status}`);
    this.status = status;
    this.lasting = Boolean(lasting); // until somebody has repaired something
    this.retryAfter = retryAfter;
  }
}

// What comes before all paths, where several campaigns share a server.
export const base = document.documentElement.dataset.base || "";

const PATIENCE = 15_000; // milliseconds after which a connection counts as lost

export async function call(method, path, body) {
  const csrf = document.querySelector("meta[name=csrf]");
  const headers = { "Content-Type": "application/json" };
  if (csrf) headers["X-CSRF-Token"] = csrf.content;
  const answer = await fetch(base + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const refusal = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, refusal, Number(answer.headers.get("Retry-After")) || 0);
}

// Somebody sent more than they may in that time. The refusal says how much that is, and perhaps when to go on.
export const limited = (error) => error.status === 429;

// The server was reached, but takes nothing at the moment.
export const busy = (error) => error.status === 503 || limited(error);

// What a text that is sent is called: the same if it is sent again, so that the server keeps it once.
export class Keys {
  of(about) {
    if (about !== this.about) {
      this.about = about;
      this.key = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
    }
    return this.key;
  }

  done() {
    this.about = null;
  }
}

// Why nothing can be done at the moment, in words that fit whoever reads the page.
export const trouble = (error) => (error.lasting ? sentence(error.message) : busy(error) ? "The server is busy." : "No connection.");

// Milliseconds until the next attempt: our own wait, or a longer one that the server asks for.
export const pause = (error, own) => Math.max(own, 1000 * (error.retryAfter || 0));

export const denied = (error) => error.status === 401 || error.status === 403;

// What the server says begins small, because it can follow other words.
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Statuses that our server sends once it has judged a request. After any other one, perhaps from a proxy, we try again.
export const judged = (error) => [409, 413, 422].includes(error.status);
