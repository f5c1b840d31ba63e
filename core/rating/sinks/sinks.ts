import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Entropy, SealedPlace, Secret, SecretBox } from '../../kernel/secret.ts'
import { hex, secret } from '../../kernel/secret.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Sink, SinkCounts, SinkEventId, SinkId, SinkStore, SinkUnitOfWork, WaitingEvent } from './ports.ts'
import { SinkCustomerMissing, SinkEventMissing, SinkEventNotHeld, UsageSinkInvalid, UsageSinkMissing } from './ports.ts'

export interface SinkDeps {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly secretBox: SecretBox
  readonly sinks: SinkStore
  readonly unitOfWork: SinkUnitOfWork
}

const auditOf = defineAudit(
  'usage_sink',
  ['usage_sink.changed', 'usage_sink.customer_set', 'usage_sink.event_resolved'],
  ({ id, name }: Pick<Sink, 'id' | 'name'>) => ({ objectId: id, objectName: name }),
)

const placeOf = (ref: string): SealedPlace => ({
  table: 'rating_sinks',
  column: 'sealed_key',
  tenantId: 0,
  rowRef: ref,
})

/** Returns the key of a sink. Throws if it was tampered with. */
export const openKey = (secretBox: SecretBox, { ref, sealedKey }: Sink): Promise<Secret> =>
  secretBox.open(sealedKey, placeOf(ref))

const sinkMissing = (name: string) => UsageSinkMissing(`The sink ${name} does not exist.`)

const noCounts: SinkCounts = { unmapped: 0, pending: 0, refused: 0, unknown: 0, oldestSeconds: 0 }

export interface CountedSink {
  readonly sink: Sink
  readonly counts: SinkCounts
}

/** Returns the sinks by name, with what waits for them. */
export const makeListSinks =
  ({ sinks }: Pick<SinkDeps, 'sinks'>) =>
  async (_call: SignedInCall<never>): Outcome<never, readonly CountedSink[]> => {
    const counts = await sinks.counts()
    return right((await sinks.list()).map((sink) => ({ sink, counts: counts.get(sink.id) ?? noCounts })))
  }

export interface SinkDetails extends Pick<Sink, 'name' | 'kind' | 'address' | 'fromMonth' | 'isEnabled'> {
  /** Undefined to keep the present one. */
  readonly key: string | undefined
}

/** Returns the address in its canonical form. */
const parseAddress = (text: string): Either<Failure<'UsageSinkInvalid'>, string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isPlain || !/^https?:$/.test(url.protocol))
    return left(UsageSinkInvalid('address must be an http or https URL without credentials, a query or a fragment.'))
  return right(url.href.replace(/\/+$/, ''))
}

/** Creates a sink, or replaces its details. A key is kept if neither the kind nor the address changes. */
export const makePutSink =
  ({ clock, entropy, secretBox, unitOfWork }: Omit<SinkDeps, 'sinks'>) =>
  async (
    call: SignedInCall<CountedSink>,
    { key, ...details }: SinkDetails,
  ): Outcome<Failure<'UsageSinkInvalid'>, CountedSink> => {
    const parsed = parseAddress(details.address)
    if (isLeft(parsed)) return parsed
    const address = parsed.right
    const ref = hex(entropy.bytes(16))
    const sealed = key === undefined ? undefined : await secretBox.seal(secret(key), placeOf(ref))
    return unitOfWork.run<Failure<'UsageSinkInvalid'>, CountedSink>(call, async ({ sinks, audit }) => {
      const before = await sinks.find(details.name)
      if (before !== undefined && before.kind !== details.kind)
        return left(UsageSinkInvalid(`The kind of a sink never changes: ${before.kind}. Choose another name.`))
      const kept = before?.address === address ? before : undefined
      const box = sealed === undefined ? kept : { ref, sealedKey: sealed }
      if (box === undefined) return left(UsageSinkInvalid('key is missing: it is needed with a new address.'))
      const { ref: boxRef, sealedKey } = box
      await sinks.put({ ...details, address, ref: boxRef, sealedKey, nextAttemptAt: clock.now() })
      const sink = await sinks.find(details.name)
      if (sink === undefined) throw new Error('The sink that was just written does not exist.')
      const { kind, isEnabled, fromMonth } = details
      const changes = { kind, address, enabled: isEnabled, from: fromMonth, newKey: key !== undefined }
      await audit.record(auditOf(sink, 'usage_sink.changed', changes))
      return right({ sink, counts: (await sinks.counts()).get(sink.id) ?? noCounts })
    })
  }

export interface SinkCustomer {
  readonly externalId: string
}
interface CustomerInput {
  readonly name: string
  readonly ownerId: AccountId
}
type CustomerFailure = Failure<'UsageSinkMissing'> | Failure<'SinkCustomerMissing'>

/** Returns the customer of an account at a billing engine. */
export const makeGetSinkCustomer =
  ({ sinks }: Pick<SinkDeps, 'sinks'>) =>
  async (_call: SignedInCall<never>, { name, ownerId }: CustomerInput): Outcome<CustomerFailure, SinkCustomer> => {
    const sink = await sinks.find(name)
    if (sink === undefined) return left(sinkMissing(name))
    const externalId = await sinks.customerOf(sink.id, ownerId)
    return externalId === undefined
      ? left(SinkCustomerMissing('The account has no customer at the billing engine.'))
      : right({ externalId })
  }

/** Sets the customer of an account at a billing engine. What waited for it is sent next. */
export const makePutSinkCustomer =
  ({ unitOfWork }: Pick<SinkDeps, 'unitOfWork'>) =>
  async (
    call: SignedInCall<SinkCustomer>,
    { name, ownerId, externalId }: CustomerInput & SinkCustomer,
  ): Outcome<Failure<'UsageSinkMissing'>, SinkCustomer> =>
    unitOfWork.run<Failure<'UsageSinkMissing'>, SinkCustomer>(call, async ({ sinks, audit }) => {
      const found = await sinks.find(name)
      // The lock orders this with the collection of a month, which looks for the customer.
      const sink = found === undefined ? undefined : await sinks.lock(found.id)
      if (sink === undefined) return left(sinkMissing(name))
      await sinks.putCustomer(sink.id, ownerId, externalId)
      await audit.record(auditOf(sink, 'usage_sink.customer_set', { account: ownerId, externalID: externalId }))
      return right({ externalId })
    })

interface EventsInput {
  readonly name: string
  readonly page: PageRequest
}

/** Returns a page of the events that are not sent, the oldest first. */
export const makeListWaiting =
  ({ sinks }: Pick<SinkDeps, 'sinks'>) =>
  async (
    _call: SignedInCall<never>,
    { name, page }: EventsInput,
  ): Outcome<Failure<'UsageSinkMissing'>, Page<WaitingEvent>> => {
    const sink = await sinks.find(name)
    return sink === undefined ? left(sinkMissing(name)) : right(await sinks.waiting(sink.id, page))
  }

interface ResolveInput {
  readonly name: string
  readonly eventId: SinkEventId
  readonly resolution: 'sent' | 'send-again'
}
type ResolveFailure = Failure<'UsageSinkMissing'> | Failure<'SinkEventMissing'> | Failure<'SinkEventNotHeld'>

/** Ends the wait of an event that was refused, or of which it is unknown whether it arrived. */
export const makeResolveEvent =
  ({ unitOfWork }: Pick<SinkDeps, 'unitOfWork'>) =>
  async (call: SignedInCall<void>, { name, eventId, resolution }: ResolveInput): Outcome<ResolveFailure, void> =>
    unitOfWork.run<ResolveFailure, void>(call, async ({ sinks, audit }) => {
      const sink = await sinks.find(name)
      if (sink === undefined) return left(sinkMissing(name))
      const event = await sinks.lockEvent(sink.id, eventId)
      if (event === undefined) return left(SinkEventMissing(`The sink ${name} has no event ${eventId}.`))
      if (event.state !== 'refused' && event.state !== 'unknown')
        return left(SinkEventNotHeld(`The event is ${event.state}. Only one that is refused or unknown is resolved.`))
      await sinks.setAttempted([eventId], undefined)
      await sinks.setState([eventId], resolution === 'sent' ? 'sent' : 'pending', '')
      await audit.record(auditOf(sink, 'usage_sink.event_resolved', { event: event.ref, as: resolution }))
      return right(undefined)
    })

/** The total of what waits, of all sinks. */
export const totalOf = (counts: ReadonlyMap<SinkId, SinkCounts>): SinkCounts =>
  [...counts.values()].reduce(
    (sum, each) => ({
      unmapped: sum.unmapped + each.unmapped,
      pending: sum.pending + each.pending,
      refused: sum.refused + each.refused,
      unknown: sum.unknown + each.unknown,
      oldestSeconds: Math.max(sum.oldestSeconds, each.oldestSeconds),
    }),
    noCounts,
  )
