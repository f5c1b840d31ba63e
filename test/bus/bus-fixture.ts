import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommandLine } from '../../composition/moorage.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startNats, type NatsServer } from '../support/components/nats-server.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, testEnvironment, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** A service with a nats-server that goes by the configuration which `moorage bus init` printed. */
export interface BusFixture {
  readonly service: TestService
  readonly nats: NatsServer
  readonly url: string
  readonly websocketUrl: string
  readonly settings: Readonly<Record<string, string>>
  /** Another service over the same database. */
  second(): Promise<TestService>
  stop(): Promise<void>
}

const storePlace = '/STORE-OF-THIS-TEST'

/** A busy machine may take longer than a server's usual two seconds to answer its challenge. */
const patience = 'authorization: { timeout: 30 }\n'

/** Runs `moorage ...` in this process. */
export const moorage = async (environment: Readonly<Record<string, string>>, ...words: readonly string[]) => {
  const printed: string[] = []
  const said: string[] = []
  const status = await runCommandLine(words, {
    environment,
    print: (text) => void printed.push(text),
    say: (text) => void said.push(text),
  })
  return { status, printed: printed.join('\n'), said: said.join('\n') }
}

/** @param more further settings of every instance */
export const startBusFixture = async (
  database: 'sqlite' | 'mysql' = 'sqlite',
  more: Readonly<Record<string, string>> = {},
): Promise<BusFixture> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bus-'))
  const [port, websocketPort] = [await reservedPort(), await reservedPort()]
  const url = `nats://127.0.0.1:${port}`
  const settings = { ...(await testEnvironment(folder, database)), ...more, MOORAGE_BUS_URL: url }
  const configured = await moorage(
    settings,
    'bus',
    'init',
    '--listen',
    `127.0.0.1:${port}`,
    '--websocket',
    `127.0.0.1:${websocketPort}`,
    '--store',
    storePlace,
  )
  if (configured.status !== 0) throw new Error(configured.said)
  const nats = await startNats(
    port,
    (storeFolder) => `${configured.printed.replaceAll(storePlace, storeFolder)}\n${patience}`,
  )
  const service = await startService({ settings })
  const others: TestService[] = []
  return {
    service,
    nats,
    url,
    settings,
    websocketUrl: `ws://127.0.0.1:${websocketPort}`,
    second: async () => {
      const another = await startService({ settings })
      others.push(another)
      return another
    },
    stop: async () => {
      for (const each of [...others, service]) await each.stop()
      await nats.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface GivenCredentials {
  readonly endpoints: readonly string[]
  readonly credentials: string
  readonly account?: string
}

/** Credentials from one of the routes, as soon as the service has found the server. */
export const credentialsFrom = async (service: TestService, path: string, token: string): Promise<GivenCredentials> =>
  until(path, async () => {
    const answer: ServiceAnswer = await service.send('GET', `/api/v1/user/bus/${path}`, { token })
    if (answer.status === 503) return undefined
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.json as GivenCredentials
  })

const connections = new Set<NatsConnection>()

/** A real client with a credentials file, as the route gave it. */
export const connectWith = async ({ endpoints, credentials }: GivenCredentials): Promise<NatsConnection> => {
  const connection = await connect({
    servers: [...endpoints],
    authenticator: credsAuthenticator(Buffer.from(credentials, 'base64')),
    reconnect: false,
    timeout: 20_000,
  })
  connections.add(connection)
  return connection
}
export const closeClients = async (): Promise<void> => {
  for (const connection of connections) await connection.close()
  connections.clear()
}

/** What a client hears on a subject, gathered; `refused` is set when the server does not let it listen there. */
export const listen = (connection: NatsConnection, subject: string) => {
  const heard: { subject: string; text: string }[] = []
  let refused: string | undefined
  connection.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) refused = error.message
      else heard.push({ subject: message.subject, text: message.string() })
    },
  })
  return { heard, refused: () => refused }
}

/** What the server objects to when a client publishes there; undefined when it does not. */
export const publishRefusal = async (connection: NatsConnection, subject: string): Promise<string | undefined> => {
  let refused: string | undefined
  const watching = (async () => {
    for await (const status of connection.status()) if (status.type === 'error') refused = status.error.message
  })()
  connection.publish(subject, 'x')
  await connection.flush()
  await connection.flush()
  void watching
  return refused
}

let people = 0
/** A new user with a token. */
export const newPerson = async (service: TestService) => {
  const username = `sailor-${(people += 1)}`
  const password = 'quiet-lantern-over-water-17'
  const body = { username, email: `${username}@example.com`, password, must_change_password: false }
  const made = await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
  return { id: (made.json as { id: number }).id, username, password, token: await service.tokenFor(username) }
}

/** Runs one of the service's jobs now. */
export const runJob = async (service: TestService, id: string): Promise<void> => {
  const found = service.running.assembly.jobs.find(({ job }) => job.id === id)
  if (found === undefined) throw new Error(`there is no job ${id}`)
  await found.job.run(new AbortController().signal)
}
