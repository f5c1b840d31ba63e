import 'reflect-metadata'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import test, { type ExecutionContext } from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { openSelfSignedIdentity, type TlsIdentity } from '../../adapters/security/tls-identity.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { anyone } from '../../plugins/kit/access.ts'
import { freeText, request } from '../../plugins/kit/codecs.ts'
import { handle } from '../../plugins/kit/handle.ts'
import { json } from '../../plugins/kit/reply.ts'
import { body, defineRoute } from '../../plugins/kit/route.ts'
import { until } from '../support/until.ts'
import { startStubServer, type StubServer } from './stub-server.ts'

/** What the HTTP layer does between the signal and the last byte, seen on the wire. Each case on HTTP and on HTTPS. */
let folder: string
let tls: TlsIdentity
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'moorage-stop-'))
  tls = await openSelfSignedIdentity(folder, ['127.0.0.1'])
})
test.after.always(() => rm(folder, { recursive: true, force: true }))

const misc = { summary: 's', tag: 'Miscellaneous', access: anyone, failures: [] as const }
const heldRoute = defineRoute({ ...misc, id: 'stub.held', method: 'GET', path: '/held', ok: json(200, t.string, 'x') })
const largeRoute = defineRoute({
  ...misc,
  id: 'stub.large',
  method: 'GET',
  path: '/large',
  ok: json(200, t.string, 'x'),
})
const takeRoute = defineRoute({
  ...misc,
  id: 'stub.take',
  method: 'POST',
  path: '/take',
  body: body(request({ name: freeText(50) }, 'Taken'), { name: 'x' }),
  ok: json(201, t.string, 'x'),
})
const largeText = 'x'.repeat(12 * 1024 * 1024)

interface Harbour {
  readonly server: StubServer
  /** How often each handler ran. */
  readonly runs: { held: number; large: number; take: number }
  /** Lets the requests of `/held` go on. */
  release(): void
  connect(): Client
}

/** A connection as its client sees it. */
interface Client {
  readonly socket: Socket
  /** The beginning of what it was sent: all of it but for large answers. */
  text(): string
  bytes(): number
  send(text: string): void
  /** The answers so far, heads only. */
  heads(): readonly string[]
  /** Resolves when the connection is over: how it ended. */
  readonly ended: Promise<'in order' | 'reset'>
}

const clientOf = (socket: Socket): Client => {
  let text = ''
  let bytes = 0
  let isReset = false
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (text.length < 10_000) text += chunk.toString('latin1')
  })
  socket.on('error', () => void (isReset = true))
  const ended = new Promise<'in order' | 'reset'>((resolve) =>
    socket.once('close', () => resolve(isReset ? 'reset' : 'in order')),
  )
  const heads = (): readonly string[] => text.match(/HTTP\/1\.1 [^]*?\r\n\r\n/g) ?? []
  return { socket, text: () => text, bytes: () => bytes, send: (words) => void socket.write(words), heads, ended }
}

const openHarbour = async (a: ExecutionContext, secure: boolean): Promise<Harbour> => {
  const released = Promise.withResolvers<void>()
  const runs = { held: 0, large: 0, take: 0 }
  const take = async (_call: Call<never>, name: string): Outcome<never, string> => {
    runs.take += 1
    return right(name)
  }
  const server = await startStubServer(
    [
      handle(heldRoute, async () => {
        runs.held += 1
        await released.promise
        return right('held')
      }),
      handle(largeRoute, async () => {
        runs.large += 1
        return right(largeText)
      }),
      handle(takeRoute, take, { input: ({ body: { name } }) => name }),
    ],
    { tls },
  )
  a.teardown(async () => {
    released.resolve()
    await server.stop({ requests: 500 })
  })
  const at = { host: '127.0.0.1', port: server.port }
  const open = (): Socket => (secure ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at))
  return { server, runs, release: released.resolve, connect: () => clientOf(open()) }
}

const get = (path: string): string => `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const post = (name: string): readonly [string, string] => {
  const bytes = JSON.stringify({ name })
  return [
    `POST /api/v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes.slice(0, 4)}`,
    bytes.slice(4),
  ]
}
const whole = (name: string): string => post(name).join('')
const closes = /\r\nConnection: close\r\n/i
const untilHeads = (client: Client, count: number) =>
  until(`${count} answers, not ${client.text().slice(0, 300)}`, () =>
    client.heads().length >= count ? true : undefined,
  )
/** Head, quotes and text. */
const wholeLarge = (client: Client): number => (client.heads()[0]?.length ?? 0) + largeText.length + 3
const patient = { requests: 60_000, streams: 1000 }

for (const [name, secure] of [
  ['HTTP', false],
  ['HTTPS', true],
] as const) {
  test(`${name}: a drain answers all requests with Connection: close and no reset`, async (a) => {
    const { server, runs, release, connect: open } = await openHarbour(a, secure)
    const [inFlight, idle, fresh] = [open(), open(), open()]
    idle.send(whole('before'))
    await untilHeads(idle, 1)
    a.notRegex(idle.text(), closes)
    inFlight.send(get('/held'))
    await until('it is in flight', () => (runs.held === 1 ? true : undefined))
    server.drain()
    fresh.send(whole('fresh'))
    const late = open()
    late.send(whole('late'))
    await Promise.all([untilHeads(fresh, 1), untilHeads(late, 1)])
    idle.send(whole('again'))
    await untilHeads(idle, 2)
    release()
    await untilHeads(inFlight, 1)
    for (const client of [inFlight, idle, fresh, late]) {
      a.is(await client.ended, 'in order')
      a.regex(client.heads().at(-1) ?? '', /^HTTP\/1\.1 20[01] /)
      a.regex(client.heads().at(-1) ?? '', closes)
    }
  })

  test(`${name}: pipelined requests are all answered, and the last answer closes`, async (a) => {
    const { server, runs, release, connect: open } = await openHarbour(a, secure)
    const client = open()
    client.send(get('/held'))
    await until('it is in flight', () => (runs.held === 1 ? true : undefined))
    server.drain()
    client.send(whole('second') + whole('third'))
    await until('the others are carried out', () => (runs.take === 2 ? true : undefined))
    release()
    a.is(await client.ended, 'in order')
    a.deepEqual(
      client.heads().map((head) => [head.slice(9, 12), closes.test(head)]),
      [
        ['200', false],
        ['201', false],
        ['201', true],
      ],
    )
  })

  test(`${name}: requests after the last answer are not executed`, async (a) => {
    const { server, runs, connect: open } = await openHarbour(a, secure)
    const client = open()
    server.drain()
    client.socket.pause()
    client.send(get('/large'))
    await until('its head is out', () => (runs.large === 1 ? true : undefined))
    client.send(whole('after the last'))
    const other = open()
    other.send(whole('elsewhere'))
    await untilHeads(other, 1)
    client.socket.resume()
    a.is(await client.ended, 'in order')
    a.is(client.heads().length, 1)
    a.is(client.bytes(), wholeLarge(client))
    a.is(runs.take, 1)
  })

  test(`${name}: a stop waits for bodies, answers and new connections`, async (a) => {
    const { server, runs, release, connect: open } = await openHarbour(a, secure)
    const [sending, reading, held, idle] = [open(), open(), open(), open()]
    sending.send(post('in two parts')[0])
    reading.socket.pause()
    reading.send(get('/large'))
    held.send(get('/held'))
    idle.send(whole('idle'))
    await untilHeads(idle, 1)
    await until('they are in flight', () => (runs.held === 1 && runs.large === 1 ? true : undefined))
    // Not a byte was sent on these, and the kernel may still hold them.
    const accepted = Array.from({ length: 30 }, open)
    if (!secure)
      await Promise.all(accepted.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
    const stopped = server.stop({ ...patient, quiet: 30_000 })
    for (const [index, client] of accepted.entries()) client.send(whole(`accepted ${index}`))
    await Promise.all(accepted.map((client) => untilHeads(client, 1)))
    sending.send(post('in two parts')[1])
    await untilHeads(sending, 1)
    reading.socket.resume()
    release()
    await until('the large answer is whole', () => (reading.bytes() === wholeLarge(reading) ? true : undefined))
    // Its head was out before the stop, and so did not say that it is the last.
    reading.socket.end()
    for (const client of [...accepted, sending, reading, held]) {
      a.is(await client.ended, 'in order')
      a.deepEqual(
        client.heads().map((head) => /^HTTP\/1\.1 20[01] /.test(head)),
        [true],
      )
    }
    // It was about to send something for as long as the stop allows.
    idle.socket.end()
    await stopped
    a.is(await idle.ended, 'in order')
  })

  test(`${name}: a new connection gets its answer without a drain time`, async (a) => {
    const { server, connect: open } = await openHarbour(a, secure)
    const [answered, fresh] = [open(), open()]
    answered.send(whole('answered'))
    await untilHeads(answered, 1)
    if (!secure) await until('it is open', () => (fresh.socket.connecting ? undefined : true))
    const stopped = server.stop({ ...patient, quiet: 0, fresh: 30_000 })
    a.is(await answered.ended, 'in order')
    fresh.send(whole('fresh'))
    a.is(await fresh.ended, 'in order')
    a.deepEqual(
      fresh.heads().map((head) => [head.slice(9, 12), closes.test(head)]),
      [['201', true]],
    )
    await stopped
  })

  test(`${name}: an idle connection ends in order without a reset`, async (a) => {
    const { server, connect: open } = await openHarbour(a, secure)
    const idle = open()
    idle.socket.allowHalfOpen = true
    idle.send(whole('before'))
    await untilHeads(idle, 1)
    const end = new Promise((resolve) => idle.socket.once('end', resolve))
    const stopped = server.stop(patient)
    await end
    idle.send(whole('too late'))
    idle.socket.end()
    a.is(await idle.ended, 'in order')
    a.is(idle.heads().length, 1)
    await stopped
  })
}
