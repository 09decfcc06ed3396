// The typed client of the HTTP interface, and the one error that everything in the app handles.
import createClient from "openapi-fetch";
import type { paths } from "./schema";
import { currentToken, forgetToken } from "./token";
import type { ErrorBody } from "./types";

/** Says that a request was refused or did not arrive. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: ErrorBody;

  constructor(status: number, body: ErrorBody) {
    super(body.message);
    this.name = "ApiError";
    this.status = status;
    this.body = body;
  }
}

/** The code of an error that never reached the server. */
export const UNREACHABLE = "unreachable";

export const api = createClient<paths>({
  baseUrl: globalThis.location?.origin ?? "",
  // Looked up at each call, so that a test can put its own in place.
  fetch: (request) => globalThis.fetch(request),
});

api.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${currentToken()}`);
    return request;
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the data of an answer, or throws an [`ApiError`]; a 401 also forgets the token. */
export async function unwrap<T>(pending: Promise<Answer<T>>): Promise<T> {
  const answer = await pending.catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, { code: UNREACHABLE, message: String(cause) });
  });
  if (answer.response.ok) return answer.data as T;
  if (answer.response.status === 401) forgetToken();
  throw new ApiError(answer.response.status, errorBody(answer.error, answer.response.status));
}

function errorBody(error: unknown, status: number): ErrorBody {
  if (typeof error === "object" && error !== null && "code" in error && "message" in error) {
    return error as ErrorBody;
  }
  return { code: "unexpected_answer", message: `HTTP ${status}` };
}
