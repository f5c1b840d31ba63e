import { makeLago } from '../../adapters/billing-engines/lago.ts'
import { makeOpenMeter } from '../../adapters/billing-engines/openmeter.ts'
import { makeStripe } from '../../adapters/billing-engines/stripe.ts'
import { makeEgressAllowance, makeUserUrlPolicy, readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import { makeSqlUnitOfWork, unaudited } from '../../adapters/sql/engine/unit-of-work.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlSinkStore } from '../../adapters/sql/rating/sink-store.ts'
import type { SecretBox } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeCollectUsage } from '../../core/rating/sinks/collect.ts'
import type { SinkKind } from '../../core/rating/sinks/ports.ts'
import { makeSendUsage } from '../../core/rating/sinks/send.ts'
import { makePutSink, makePutSinkCustomer, makeResolveEvent } from '../../core/rating/sinks/sinks.ts'
import type { BilledProductUse } from '../../core/usage/overview-ports.ts'
import type { MonthKey, UsageMonth, UsageMonthId } from '../../core/usage/types.ts'
import { unwrap } from '../support/outcome.ts'
import { call, july, ownerOf } from './stored-billing.ts'
import { engineKey } from './strict-engines.ts'

const loopback = readEgressTarget('127.0.0.1')!
const fetch = makeGuardedFetch(makeUserUrlPolicy(makeEgressAllowance([loopback])))
const engines = { lago: makeLago(fetch), openmeter: makeOpenMeter(fetch), stripe: makeStripe(fetch) }

/** Seals nothing: sealing has tests of its own. */
const secretBox: SecretBox = {
  seal: async (plain) => new TextEncoder().encode(plain.reveal()),
  open: async (box) => secret(new TextDecoder().decode(box)),
  rewrap: async (box) => box,
  keyIdOf: () => '',
}

/** A clock that tests move. */
export const makeTestClock = (at: string) => {
  let now = new Date(at)
  return {
    now: () => now,
    hours: (count: number) => void (now = new Date(now.getTime() + count * 3_600_000)),
  }
}

export interface ClosedMonth {
  readonly owner: number
  readonly revision: number
  readonly uses: readonly BilledProductUse[]
  readonly month?: MonthKey
}

/** Collects closed months into the outbox of a sink at an address, and sends them. */
export const storedSinks = (
  db: SqlDatabase,
  clock: { readonly now: () => Date },
  { kind, url, key = engineKey }: { readonly kind: SinkKind; readonly url: string; readonly key?: string },
) => {
  const bind = makeSqlSinkStore(db)
  const sinks = bind(db)
  const unitOfWork = makeSqlUnitOfWork(db, (tx) => ({ sinks: bind(tx), audit: unaudited() }), unaudited)
  const closed = new Map<string, { readonly month: UsageMonth; readonly uses: readonly BilledProductUse[] }>()
  const warnings: object[] = []
  const log = {
    warn: (of: object) => void warnings.push(of),
    error: (of: object) => void warnings.push(of),
    info: () => undefined,
  }
  const deps = { clock, engines, log: log as never, secretBox, sinks, unitOfWork }
  const collect = makeCollectUsage({
    ...deps,
    months: { listSince: async () => [...closed.values()].map(({ month }) => month) },
    use: { closed: async (ownerId, month) => closed.get(`${ownerId} ${month}`) },
    onFailure: (_sink, _month, error) => {
      throw error
    },
  })
  const entropy = { bytes: (length: number) => new Uint8Array(length).fill(7), uuid: () => '' }
  const put = makePutSink({ ...deps, entropy })
  const putCustomer = makePutSinkCustomer(deps)
  const resolve = makeResolveEvent(deps)
  const send = makeSendUsage(deps)
  const details = { name: 'engine', kind, address: url, fromMonth: 202601 as MonthKey, isEnabled: true, key }
  return {
    sinks,
    warnings,
    create: async () => unwrap(await put(call, details)),
    mapped: async (owner: number, externalId: string) =>
      unwrap(await putCustomer(call, { name: 'engine', ownerId: ownerOf(owner), externalId })),
    close({ owner, revision, uses, month = july }: ClosedMonth): void {
      const ownerId = ownerOf(owner)
      const row = { id: 1 as UsageMonthId, ownerId, month, revision, status: 'final' as const, inputHash: '' }
      closed.set(`${ownerId} ${month}`, { month: { ...row, generatedAt: clock.now() }, uses })
    },
    collect: () => collect(call),
    send: () => send(new AbortController().signal),
    resolve: (eventId: number, resolution: 'sent' | 'send-again') =>
      resolve(call, { name: 'engine', eventId: eventId as never, resolution }),
    waiting: async () => {
      const sink = (await sinks.find('engine'))!
      return (await sinks.waiting(sink.id, { page: 1, limit: 50 })).items
    },
  }
}
