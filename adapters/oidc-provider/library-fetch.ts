import type { GuardedFetch } from '../outbound/guarded-fetch.ts'

/** The fetch of a library, as far as requests with a form need it. */
export type LibraryFetch = (
  url: string | URL,
  options?: {
    readonly headers?: Headers | Record<string, string>
    readonly body?: unknown
    readonly signal?: AbortSignal | null
  },
) => Promise<Response>

const answerBytes = 65_536

/** Returns a fetch by which the library tells applications of sign-outs: it reaches what the guard allows. */
export const makeLibraryFetch =
  (fetch: GuardedFetch): LibraryFetch =>
  async (url, { headers, body, signal } = {}) => {
    const answer = await fetch(
      {
        url: new URL(String(url)),
        post: body instanceof URLSearchParams ? body.toString() : String(body ?? ''),
        headers: Object.fromEntries(new Headers(headers)),
        limitBytes: answerBytes,
      },
      signal ?? new AbortController().signal,
    )
    answer.release?.()
    return new Response(null, { status: answer.status })
  }
