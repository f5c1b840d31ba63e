import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { IdempotencyStore, KeyedChange, StoredAnswer } from '../../../../core/kernel/idempotency.ts'
import type { Principal } from '../../../../core/kernel/principal.ts'
import { secret } from '../../../../core/kernel/secret.ts'
import type { SecretBox } from '../../../../core/kernel/secret.ts'
import type { Refusal } from '../failure-response.ts'
import { refusal } from '../failure-response.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Answer } from './packed-answer.ts'

/** The first request with its key. */
export interface FreshRequest {
  readonly kind: 'fresh'
  readonly recordId: number
  readonly rowRef: string
}

/** The state of a request with an idempotency key. */
export type KeyedRequest =
  | { readonly kind: 'none' }
  | FreshRequest
  | { readonly kind: 'replay'; readonly answer: Answer }

/** Passes through a use case with the call, and records its result. */
export interface Keeping {
  readonly keyed: KeyedChange
  /** Returns the answer that was committed with the change. */
  kept(): Answer | undefined
}

const keyPattern = /^[\x21-\x7e]{1,255}$/

/** Returns the SHA-256 of parts with their lengths, so that different lists of parts have different digests. */
const digest = (...parts: readonly string[]): Uint8Array => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest()
}

/**
 * Returns the owner of a key. Each kind of credential, and each token, has its own keys: a weaker credential must not
 * get what a stronger one was answered (such as a token or recovery codes, shown once).
 */
const ownerOf = ({ userId, method, tokenId, impersonator }: Principal): readonly string[] => [
  String(userId),
  method,
  tokenId === undefined ? '' : String(tokenId),
  impersonator === undefined ? '' : String(impersonator.userId),
]

const place = (rowRef: string) => ({ table: 'idempotency_records', column: 'body', tenantId: 0, rowRef })

const inProgress = (retryAfterSeconds: number): Refusal =>
  refusal(409, 'RequestInProgress', 'A request with this Idempotency-Key is still being worked on.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })
const appliedWithoutAnswer = refusal(
  409,
  'AnswerLost',
  'The change of the first request with this Idempotency-Key was made, but its answer was lost; read the ' +
    'object to see it.',
)

const requestDigest = (context: RequestContext, bodyText: string | undefined): Uint8Array =>
  digest(context.method, context.path, context.query, bodyText ?? '')

/** Returns the digest under which the caller's key is stored, or undefined when the key has no possible owner. */
const keyDigest = (
  key: string | string[] | undefined,
  { principal, routeId }: RequestContext,
): Uint8Array | undefined =>
  principal === undefined || typeof key !== 'string' || !keyPattern.test(key)
    ? undefined
    : digest(...ownerOf(principal), routeId, key)

const rowRefOf = (keyHash: Uint8Array): string => Buffer.from(keyHash).toString('base64url')

const replayed = (headers: StoredAnswer['headers']) => ({ ...headers, 'Idempotency-Replayed': 'true' })

/**
 * Carries out changes with an Idempotency-Key at most once. A key belongs to a caller's credential and an operation;
 * the same key with a different request is refused. Stored answers are sealed, since some contain a token that is shown
 * only once.
 */
export const makeIdempotency = (store: IdempotencyStore, secretBox: SecretBox) => {
  const sealed = async ({ status, headers, body }: Answer, rowRef: string): Promise<StoredAnswer> => {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    return {
      status,
      headers: Object.fromEntries(
        Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      ),
      body: text === undefined ? undefined : await secretBox.seal(secret(text), place(rowRef)),
    }
  }

  return {
    async begin(
      req: IncomingMessage,
      context: RequestContext,
      bodyText: string | undefined,
    ): Promise<Either<Refusal, KeyedRequest>> {
      const key = req.headers['idempotency-key']
      if (key === undefined || context.principal === undefined) return right({ kind: 'none' })
      const keyHash = keyDigest(key, context)
      if (keyHash === undefined)
        return left(refusal(400, 'BadIdempotencyKey', 'Idempotency-Key takes 1 to 255 visible ASCII characters.'))
      const begun = await store.begin(keyHash, requestDigest(context, bodyText))
      const rowRef = rowRefOf(keyHash)
      switch (begun.kind) {
        case 'fresh':
          return right({ kind: 'fresh', recordId: begun.id, rowRef })
        case 'in-progress':
          return left(inProgress(begun.retryAfterSeconds))
        case 'mismatch':
          return left(refusal(422, 'IdempotencyKeyReused', 'This Idempotency-Key was used for another request.'))
        case 'applied-without-answer':
          return left(appliedWithoutAnswer)
        case 'answered': {
          const { status, headers, body } = begun.answer
          const text = body === undefined ? undefined : (await secretBox.open(body, place(rowRef))).reveal()
          return right({ kind: 'replay', answer: { status, headers: replayed(headers), body: text } })
        }
      }
    },

    /**
     * Returns the answer of an earlier request that was carried out, for a retry that is refused only because that
     * request removed or renamed its subject. Only an answer without a body is returned, since the caller may no longer
     * see more.
     */
    async earlier(
      req: IncomingMessage,
      context: RequestContext,
      bodyText: () => Promise<string | undefined>,
    ): Promise<Answer | undefined> {
      const keyHash = keyDigest(req.headers['idempotency-key'], context)
      const found = keyHash === undefined ? undefined : await store.find(keyHash)
      if (found === undefined || found.answer.body !== undefined) return undefined
      if (Buffer.compare(found.requestHash, requestDigest(context, await bodyText())) !== 0) return undefined
      return { status: found.answer.status, headers: replayed(found.answer.headers), body: undefined }
    },

    /**
     * Returns what passes through the use case with the call. `answerOf` makes the answer from the result of the
     * transaction.
     */
    keep({ recordId, rowRef }: FreshRequest, answerOf: (result: unknown) => Promise<Answer>): Keeping {
      let prepared: Answer | undefined
      let kept: Answer | undefined
      return {
        keyed: {
          recordId,
          answer: async (result) => {
            prepared = await answerOf(result)
            return sealed(prepared, rowRef)
          },
          committed: () => void (kept = prepared),
        },
        kept: () => kept,
      }
    },

    async abandon({ recordId }: FreshRequest): Promise<void> {
      // The store itself may have failed. It removes the record when it is available again.
      await store.forget(recordId).catch(() => undefined)
    },

    /** Finishes the work under a key. `isKept` means that the answer was committed with the change. */
    async finish({ recordId, rowRef }: FreshRequest, answer: Answer, isKept: boolean): Promise<void> {
      if (isKept) return store.settle(recordId)
      // A refusal that a retry may overcome is not stored.
      const isTransient = answer.status >= 500 || answer.status === 429 || answer.headers['Retry-After'] !== undefined
      if (isTransient) return store.forget(recordId)
      return store.answer(recordId, await sealed(answer, rowRef))
    },
  }
}
