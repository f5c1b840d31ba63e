import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSync, verifySync } from '@node-rs/argon2'
import type { HelmLimits } from '../../adapters/helm/process/limits.ts'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { makeArgon2PasswordHasher, makeHashingQueue } from '../../adapters/security/passwords.ts'
import { openSelfSignedIdentity } from '../../adapters/security/tls-identity.ts'
import type { Binding } from '../../composition/part/binding.ts'
import { bind } from '../../composition/part/binding.ts'
import { tagsOf } from '../../composition/runtime/http/openapi/document.ts'
import { HelmLimitsPort } from '../../composition/parts/packages/helm.ts'
import { ofUserCreation, userCreation } from '../../composition/parts/identity/user-creation.ts'
import { definePart } from '../../composition/part/part.ts'
import { operatorCall } from '../../composition/part/operator.ts'
import { loadConfig } from '../../composition/moorage.ts'
import type { LocalClock } from '../../adapters/system/system-clock.ts'
import { deploymentOf } from '../../composition/runtime/service/compose.ts'
import type { RunningService } from '../../composition/runtime/service/running-service.ts'
import { startRunning } from '../../composition/runtime/service/running-service.ts'
import { makeCreateToken } from '../../core/identity/tokens/access-tokens.ts'
import type { PasswordHasher } from '../../core/identity/ports.ts'
import { IdentityStoresPort, PasswordHasherPort, TokenDigestPort } from '../../core/identity/ports.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import type { Client } from '../../plugins/kit/client.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import { makeAnswerCheckOf } from './answer-check.ts'
import { cached } from './components/cache-folder.ts'
import { borrowMysqlDatabase, migratedMysqlUrl, migratedSqlitePath } from './databases.ts'
import { httpSend } from './http-send.ts'
import type { SendOptions, ServiceAnswer } from './send-json.ts'
import { makeSendJson } from './send-json.ts'
import type { TypedCall } from './client-as.ts'
import { makeTypedCall } from './client-as.ts'
import { watchAnswers } from './watch-answers.ts'

export interface ServiceOptions {
  /** `MOORAGE_...` variables over those that the test service sets. */
  readonly settings?: Readonly<Record<string, string>>
  readonly database?: 'sqlite' | 'mysql'
  /** This machine's when absent. */
  readonly localClock?: LocalClock
  /** Those of the product when absent, at a cost that only a test may have. */
  readonly passwordHasher?: PasswordHasher
  /** Those of the product when absent. */
  readonly helmLimits?: HelmLimits
  readonly plugins?: readonly AnyPlugin[]
  /** Ports that the test provides itself. */
  readonly replaced?: readonly Binding[]
}

export const adminLogin = 'admin'
export const adminPassword = 'harbour-lantern-tide-42'

/** The real assembly in this process, on loopback ports of its own, over a database that nobody else uses. */
export interface TestService {
  readonly baseUrl: string
  readonly opsUrl: string
  readonly databaseUrl: string
  /** A personal access token of the site admin `admin`, all scopes. */
  readonly adminToken: string
  /** The typed client; credentials go in as `headers`. */
  readonly client: Client
  /** Calls a declared route with an access token, which gets the declared success. */
  readonly call: TypedCall
  readonly running: RunningService
  /** `path` below the base URL, as `/api/v1/user`. A body that is no string is sent as JSON. */
  send(method: string, path: string, options?: SendOptions): Promise<ServiceAnswer>
  /** Every line logged so far, parsed. */
  logLines(): readonly Readonly<Record<string, unknown>>[]
  /** The same as text, for searches. */
  logText(): string
  /** A token for an existing user, made on the store. */
  tokenFor(login: string, scopes?: readonly string[]): Promise<string>
  stop(): Promise<void>
}

/** For all services of this process: its hashes cost far less than the start of a thread for them. */
const cheapPasswordHasher = makeArgon2PasswordHasher(
  makeHashingQueue(),
  { memoryCost: 8, timeCost: 1 },
  {
    run: async (task) =>
      task.kind === 'hash' ? hashSync(task.password, task.parameters) : verifySync(task.phc, task.password),
  },
)

export const startService = async (options: ServiceOptions = {}): Promise<TestService> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-service-'))
  const log: string[] = []
  const borrowed =
    options.database === 'mysql' && options.settings?.['MOORAGE_DATABASE_URL'] === undefined
      ? await borrowMysqlDatabase()
      : undefined
  await placeCertificate(folder)
  const databaseUrl =
    borrowed?.url ?? options.settings?.['MOORAGE_DATABASE_URL'] ?? `sqlite:${await migratedSqlitePath()}`
  const config = await loadConfig({ environment: { ...testSettings(folder, databaseUrl), ...options.settings } })
  const { settings } = config
  const { helmLimits, passwordHasher = cheapPasswordHasher, plugins = [], replaced = [] } = options
  const running = await startRunning({
    config: { ...config, parts: [...config.parts, ...plugins.map((plugin) => definePart({ plugin }))] },
    log: makeBunyanLog({ level: settings.logLevel, lines: { add: (line) => void log.push(line) } }),
    ...(options.localClock === undefined ? {} : { localClock: options.localClock }),
    replaced: [
      bind(PasswordHasherPort, {}, () => passwordHasher),
      ...(helmLimits === undefined ? [] : [bind(HelmLimitsPort, {}, () => helmLimits)]),
      ...replaced,
    ],
  })
  const { baseUrl, opsUrl } = running
  // The document has the names of this interface only.
  const answers = settings.referenceNames
    ? { stop: () => undefined }
    : watchAnswers(settings.listen.port === 0 ? Number(new URL(baseUrl).port) : settings.listen.port, () =>
        makeAnswerCheckOf(running.assembly.routes, {
          baseUrl,
          sessionCookie: settings.sessionCookie,
          deployment: deploymentOf(settings),
          tags: tagsOf(config.parts),
        }),
      )
  const tokenFor = makeTokenFor(running)
  const client = makeClient(httpSend(baseUrl))
  return {
    baseUrl,
    opsUrl,
    running,
    databaseUrl,
    adminToken: await tokenFor(settings.adminUsername),
    client,
    call: makeTypedCall({ baseUrl }, (token) => token),
    send: makeSendJson(baseUrl),
    logLines: () => log.map((line) => JSON.parse(line) as Record<string, unknown>),
    logText: () => log.join(''),
    tokenFor,
    stop: async () => {
      await running.stop()
      await borrowed?.giveBack()
      rmSync(folder, { recursive: true, force: true })
      answers.stop()
    },
  }
}

/** The settings of a test service that its options do not override, with a database of its own. */
export const testEnvironment = async (
  folder: string,
  database: 'sqlite' | 'mysql',
): Promise<Readonly<Record<string, string>>> => {
  await placeCertificate(folder)
  return testSettings(folder, database === 'mysql' ? await migratedMysqlUrl() : `sqlite:${await migratedSqlitePath()}`)
}

/**
 * A data folder of a service that has started before: loading what makes a certificate takes a tenth of a first start.
 */
const placeCertificate = async (folder: string): Promise<void> => {
  const kept = await cached('self-signed-localhost', async (into) => {
    await openSelfSignedIdentity(into, ['localhost', '127.0.0.1', '::1'])
  })
  cpSync(kept, join(folder, 'tls'), { recursive: true })
}

const testSettings = (folder: string, databaseUrl: string): Readonly<Record<string, string>> => ({
  MOORAGE_LISTEN: '127.0.0.1:0',
  MOORAGE_MARKETPLACE_LISTEN: '127.0.0.1:0',
  MOORAGE_OPS_LISTEN: '127.0.0.1:0',
  MOORAGE_DATA_DIR: folder,
  MOORAGE_DATABASE_URL: databaseUrl,
  MOORAGE_ADMIN_USERNAME: adminLogin,
  MOORAGE_ADMIN_EMAIL: 'admin@example.com',
  MOORAGE_ADMIN_PASSWORD: adminPassword,
  // Nothing is fetched for a test that needs no helm.
  MOORAGE_HELM: 'off',
  // No load balancer has to notice that it stops.
  MOORAGE_DRAIN_SECONDS: '0',
  MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
  MOORAGE_RATE_LIMIT_PER_MINUTE: '0',
  // A test on a busy machine waits; what a caller sees after the limit of production has tests of its own.
  MOORAGE_DATABASE_TIMEOUT_SECONDS: '30',
})

let tokens = 0

const makeTokenFor =
  ({ container }: RunningService) =>
  async (login: string, scopes: readonly string[] = ['all', 'sudo']): Promise<string> => {
    const user = await container.resolve(IdentityStoresPort).users.byLogin(login)
    if (user === undefined) throw new Error(`there is no user ${login}`)
    const create = makeCreateToken({
      ...userCreation(container.give(ofUserCreation)),
      digest: container.resolve(TokenDigestPort),
      entropy: container.resolve(EntropyPort),
    })
    const input = { name: `test-${(tokens += 1)}`, scopes, expiresAt: undefined }
    const made = await create(operatorCall('test.createToken'), {
      owner: { userId: user.id, login: user.login },
      ...input,
    })
    if (made._tag === 'Left') throw new Error(made.left.message)
    return made.right.value.reveal()
  }
