import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { BegunRequest, IdempotencyStore } from '../../core/kernel/idempotency.ts'
import type { Principal } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { SecretBox } from '../../core/kernel/secret-box.ts'
import type { Refusal } from './failure-response.ts'
import { refusal } from './failure-response.ts'
import type { RequestContext } from './request-context.ts'
import type { Answer } from './write-answer.ts'

/** What became of a request's idempotency key. */
export type KeyedRequest =
  | { readonly kind: 'none' }
  | { readonly kind: 'fresh'; readonly recordId: number; readonly rowRef: string }
  | { readonly kind: 'replay'; readonly answer: Answer }

const keyPattern = /^[\x21-\x7e]{1,255}$/

/** SHA-256 over parts with their lengths, so that no two lists of parts have one digest. */
const digest = (...parts: readonly string[]): Uint8Array => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest()
}

/**
 * Whose key it is. Each kind of credential, and each token, has keys of its own: what a stronger one was answered (a
 * token or recovery codes, once) is not for it.
 */
const ownerOf = ({ userId, method, tokenId, impersonator }: Principal): readonly string[] => [
  String(userId),
  method,
  tokenId === undefined ? '' : String(tokenId),
  impersonator === undefined ? '' : String(impersonator.userId),
]

const place = (rowRef: string) => ({ table: 'idempotency_records', column: 'body', tenantId: 0, rowRef })

const inProgress = refusal(409, 'RequestInProgress', 'A request with this Idempotency-Key is still being worked on.', {
  headers: { 'Retry-After': '1' },
})
const appliedWithoutAnswer = refusal(
  409,
  'AnswerLost',
  'The change of the first request with this Idempotency-Key was made, but its answer was lost; read the object to see it.',
)

const answerWaits = 20
const answerWaitMs = 50

/** The answer is kept right after the change is committed: one that is not there yet need not be lost. */
const beginAndSettle = async (store: IdempotencyStore, keyHash: Uint8Array, requestHash: Uint8Array): Promise<BegunRequest> => {
  for (let waits = answerWaits; ; waits--) {
    const begun = await store.begin(keyHash, requestHash)
    if (begun.kind !== 'applied-without-answer' || waits === 0) return begun
    await sleep(answerWaitMs)
  }
}

/**
 * Makes changes with an Idempotency-Key happen at most once. The key belongs to a caller's credential and an operation; the same key
 * with another request is refused. Stored answers are sealed, since some hold a token that was shown once.
 */
export const makeIdempotency = (store: IdempotencyStore, secretBox: SecretBox) => ({
  async begin(req: IncomingMessage, context: RequestContext, bodyText: string | undefined): Promise<Either<Refusal, KeyedRequest>> {
    const key = req.headers['idempotency-key']
    const principal = context.principal
    if (key === undefined || principal === undefined) return right({ kind: 'none' })
    if (typeof key !== 'string' || !keyPattern.test(key)) {
      return left(refusal(400, 'BadIdempotencyKey', 'Idempotency-Key takes 1 to 255 visible ASCII characters.'))
    }
    const keyHash = digest(...ownerOf(principal), context.routeId, key)
    const requestHash = digest(context.method, context.path, context.query, bodyText ?? '')
    const begun = await beginAndSettle(store, keyHash, requestHash)
    const rowRef = Buffer.from(keyHash).toString('base64url')
    switch (begun.kind) {
      case 'fresh':
        context.idempotencyRecordId = begun.id
        return right({ kind: 'fresh', recordId: begun.id, rowRef })
      case 'in-progress':
        return left(inProgress)
      case 'mismatch':
        return left(refusal(422, 'IdempotencyKeyReused', 'This Idempotency-Key was used for another request.'))
      case 'applied-without-answer':
        return left(appliedWithoutAnswer)
      case 'answered': {
        const body = begun.answer.body === undefined ? undefined : (await secretBox.open(begun.answer.body, place(rowRef))).reveal()
        const headers = { ...begun.answer.headers, 'Idempotency-Replayed': 'true' }
        return right({ kind: 'replay', answer: { status: begun.answer.status, headers, body } })
      }
    }
  },

  async abandon(keyed: KeyedRequest): Promise<void> {
    // The store may be the very thing that failed; the record then expires by itself.
    if (keyed.kind === 'fresh') await store.forget(keyed.recordId).catch(() => undefined)
  },

  async finish(keyed: KeyedRequest, answer: Answer): Promise<void> {
    if (keyed.kind !== 'fresh') return
    // A refusal that a retry may overcome leaves no answer behind.
    if (answer.status >= 500 || answer.status === 429) return store.forget(keyed.recordId)
    const text = answer.body === undefined ? undefined : typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString('utf8')
    const body = text === undefined ? undefined : await secretBox.seal(secret(text), place(keyed.rowRef))
    const headers = Object.fromEntries(Object.entries(answer.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
    await store.answer(keyed.recordId, { status: answer.status, headers, body })
  },
})
