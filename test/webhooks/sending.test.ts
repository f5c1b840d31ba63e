import test from 'ava'
import { makeUserFetch } from '../../adapters/outbound/user-fetch.ts'
import { makeReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import { readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { makeNameResolver } from '../../adapters/outbound/name-resolver.ts'
import { makeHttpWebhookSender } from '../../adapters/webhooks/sender.ts'
import { secret } from '../../core/kernel/secret.ts'
import { eventTypes, schemaOf } from '../../core/webhooks/event-types.ts'
import { makeDeliverEvents, pauseSeconds, retrySeconds } from '../../core/webhooks/sending.ts'
import type { AttemptOutcome, ReceiverHealth, SignedMessage } from '../../core/webhooks/ports.ts'
import type { Attempt, Delivery, StoredWebhook, WebhookDeliveryId, WebhookId } from '../../core/webhooks/types.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { startReceiver } from './receiver.ts'

const key = secret('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')
const never = new AbortController().signal

test('a receiver costs at most its time limit and a bounded answer', async (t) => {
  const receiver = await startReceiver()
  const allowed = readEgressTarget('127.0.0.1')
  if (allowed === undefined) return t.fail()
  const resolver = makeNameResolver()
  const fetch = makeUserFetch({ settings: { egressAllow: [allowed] }, resolver, readings: makeReadingBudgets() })
  const sender = makeHttpWebhookSender(fetch, 1_000)
  const send = (path: string): Promise<Attempt> => {
    const message: SignedMessage = {
      url: receiver.url(path),
      eventId: 'evt_1',
      at: new Date(),
      body: '{}',
      format: 'standard',
      secrets: [key],
    }
    return sender.send(message, never)
  }
  const [hanging, redirecting, flooding] = await Promise.all(['/a/hang', '/a/redirect', '/a/flood'].map(send))
  receiver.stop()
  t.like(hanging, { status: undefined, problem: '127.0.0.1 did not answer in time.' })
  t.is(redirecting?.status, 302)
  t.deepEqual(receiver.at('/elsewhere'), [])
  t.like(flooding, { status: 200, answer: 'x'.repeat(2_000) })
})

test('the schedule is that of Standard Webhooks, and pauses are bounded', (t) => {
  t.is(
    retrySeconds.reduce((sum, each) => sum + each, 0),
    272_105,
  )
  t.deepEqual([1, 2, 3, 7, 1_000].map(pauseSeconds), [5, 10, 20, 300, 300])
})

test('each event type is an action that a part records', (t) => {
  const sources = readdirSync('core', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('webhooks/event-types'))
    .map((file) => readFileSync(`core/${file}`, 'utf8'))
    .join('\n')
  for (const { type, action, objectType } of eventTypes) {
    t.true(sources.includes(`'${action}'`), type)
    t.true(sources.includes(`'${objectType}'`), type)
  }
  t.is(new Set(eventTypes.map(({ type }) => type)).size, eventTypes.length)
  t.like(schemaOf(eventTypes[0] ?? t.fail()), { title: 'cluster.changed' })
})

/** Webhooks in memory, each with deliveries that are due; `hanging` ones never answer. */
const queueOf = (ids: readonly number[], perWebhook: number, hanging: ReadonlySet<number>) => {
  const now = new Date('2026-11-26T00:00:00Z')
  const webhooks = new Map(
    ids.map((id) => {
      const webhook = { id: id as WebhookId, url: `http://${id}.example`, format: 'standard', failures: 0 }
      return [webhook.id, webhook as unknown as StoredWebhook] as const
    }),
  )
  const pending = new Map(
    [...webhooks.keys()].map((id) => [
      id,
      Array.from({ length: perWebhook }, (_, at) => {
        const delivery = {
          id: (id * 1_000 + at) as WebhookDeliveryId,
          webhookId: id,
          eventId: `evt_${at}`,
          attempts: 0,
        }
        return delivery as Delivery
      }),
    ]),
  )
  const sent = new Map<string, string[]>()
  const paused = new Set<WebhookId>()
  const stopping = new AbortController()
  const left = (): number => [...pending].reduce((sum, [id, all]) => sum + (hanging.has(id) ? 0 : all.length), 0)
  const run = makeDeliverEvents({
    queue: {
      listDueWebhooks: async (_at, limit) => {
        if (left() === 0) stopping.abort()
        return [...webhooks.values()].filter(({ id }) => !paused.has(id) && pending.get(id)?.length).slice(0, limit)
      },
      listDue: async (id, _at, limit) => (pending.get(id) ?? []).slice(0, limit),
      saveAttempt: async (id: WebhookDeliveryId, { state }: AttemptOutcome) => {
        for (const [webhook, all] of pending)
          if (state === 'delivered')
            pending.set(
              webhook,
              all.filter((each) => each.id !== id),
            )
      },
      saveHealth: async (id: WebhookId, { pausedUntil }: ReceiverHealth) => {
        if (pausedUntil !== undefined) paused.add(id)
      },
    },
    sender: {
      send: async ({ url, eventId }, signal) => {
        sent.set(url, [...(sent.get(url) ?? []), eventId])
        if (hanging.has(Number(new URL(url).hostname.split('.')[0])))
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return { status: 200, answer: '', problem: '', durationMs: 1 }
      },
    },
    secrets: { open: async () => [key] },
    owners: { listAddresses: async () => [] },
    unitOfWork: { run: () => Promise.reject(new Error('nothing is disabled')) },
    ownCall: () => ({ principal: undefined, requestId: '', sourceIp: '', operation: '', signal: never }),
    clock: { now: () => now },
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    counters: { attempt: () => undefined },
  })
  return { sent, left, run: () => run(stopping.signal) }
}

test('receivers that hang do not delay the events of others', async (t) => {
  const ids = Array.from({ length: 50 }, (_, at) => at + 1)
  const { sent, left, run } = queueOf(ids, 25, new Set([1, 2, 3, 4, 5]))
  await run()
  t.is(left(), 0)
  const expected = Array.from({ length: 25 }, (_, at) => `evt_${at}`)
  for (const id of ids.slice(5))
    t.deepEqual(sent.get(`http://${id}.example/`) ?? sent.get(`http://${id}.example`), expected)
  t.is(sent.get('http://1.example')?.length, 1)
})
