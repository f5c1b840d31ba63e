import { randomInt, randomUUID } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeUndiciApiClient } from '../../../../adapters/api-client/undici-api-client.ts'
import { isCurrent, migrateUp, migrationStatus } from '../../../../adapters/sql/engine/migrator.ts'
import type { Loading } from '../../../../adapters/sql/kernel/backup/loading.ts'
import { openLoading } from '../../../../adapters/sql/kernel/backup/loading.ts'
import { makeSqlInstanceRegister } from '../../../../adapters/sql/kernel/instance-store.ts'
import type { SqlDatabase } from '../../../../adapters/sql/kit/statement.ts'
import { IdentityStoresPort, IdentityUnitOfWorkPort, TokenDigestPort } from '../../../../core/identity/ports.ts'
import { makeCreateToken } from '../../../../core/identity/tokens/access-tokens.ts'
import { ClockPort } from '../../../../core/kernel/clock.ts'
import { fromWireJson, toWireJson } from '../../../../core/kernel/json.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import { EntropyPort } from '../../../../core/kernel/secret.ts'
import type { Log } from '../../../../core/kernel/log.ts'
import { StartRefused } from '../../../part/boot.ts'
import type { LoadedConfig } from '../../config/config.ts'
import { migrationsFor } from '../../migrations.ts'
import type { DemoHub, DemoOrganization, DemoWorld } from '../../../part/part.ts'
import { demoDescription } from '../../../part/part.ts'
import { isOpenPart } from '../../service/compose.ts'
import { operatorCall } from '../../../part/operator.ts'
import { isInUse, openStore } from '../../service/foundation.ts'
import type { RunningService } from '../../service/running-service.ts'
import { startRunning } from '../../service/running-service.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { makeProgress, printJson } from '../../../part/command-context.ts'
import { readNamed } from '../backup/create.ts'
import { configOf } from '../config.ts'

/** The first site admin by the settings: the demonstration is made in that name. */
interface AdminSettings {
  readonly adminUsername: string
  readonly adminPassword?: Secret<string>
}

const adminOf = ({ settings }: LoadedConfig): AdminSettings => settings as typeof settings & AdminSettings

const organization = (
  [name, fullName]: readonly [string, string],
  people: readonly (readonly [login: string, fullName: string])[],
  clusters: readonly (readonly [name: string, displayName: string, uid: string])[],
): DemoOrganization => ({
  name,
  fullName,
  people: people.map(([login, full], n) => ({
    login,
    fullName: full,
    team: n === 0 ? 'Owners' : n === 1 ? 'Editors' : 'Viewers',
  })),
  clusters: clusters.map(([cluster, displayName, uid], n) => ({
    name: cluster,
    displayName,
    uid: `de300000-0000-4000-8000-${uid}`,
    mode: n === 0 ? 'prod' : 'non-prod',
  })),
})

const vendor = organization(
  ['harbourmaster', 'Harbourmaster Software'],
  [
    ['vera', 'Vera Vogel'],
    ['victor', 'Victor Lam'],
  ],
  [],
)
const customers: readonly DemoOrganization[] = [
  organization(
    ['northwind', 'Northwind Bank'],
    [
      ['nora', 'Nora Berg'],
      ['nils', 'Nils Holm'],
      ['nadia', 'Nadia Roy'],
    ],
    [
      ['frankfurt', 'Frankfurt', '000000000001'],
      ['dublin', 'Dublin', '000000000002'],
    ],
  ),
  organization(
    ['tidewater', 'Tidewater Logistics'],
    [
      ['tomas', 'Tomás Vega'],
      ['tara', 'Tara Singh'],
      ['tim', 'Tim Olsen'],
    ],
    [
      ['rotterdam', 'Rotterdam', '000000000003'],
      ['valencia', 'Valencia', '000000000004'],
    ],
  ),
  organization(
    ['aurora', 'Aurora Games'],
    [
      ['anna', 'Anna Lind'],
      ['arun', 'Arun Mehta'],
      ['alma', 'Alma Kos'],
    ],
    [['oslo', 'Oslo', '000000000005']],
  ),
]
/** Customers on shared clusters. Their names are those of namespaces. */
const clients: readonly DemoOrganization[] = [
  organization(['lighthouse', 'Lighthouse Maps'], [['lena', 'Lena Brandt']], []),
  organization(['drydock', 'Drydock Repairs'], [['dario', 'Dario Conti']], []),
]
const organizations = [vendor, ...customers, ...clients]

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const newPassword = (): string =>
  Array.from({ length: 3 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

const nothing = (): void => undefined
const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export interface SeedOptions extends CommonOptions {
  /** Files with kubeconfigs. */
  readonly hub?: string
  readonly spoke?: string
  /** An issuer, or the address of a directory with the base of its people as path. */
  readonly identityProvider?: string
}

/** Fills an empty database with the demonstration, through the routes and ports of the parts. */
export const seedDemo = async (context: RuntimeContext, options: SeedOptions): Promise<ExitCode> => {
  const { hub, spoke, identityProvider } = options
  if ((hub === undefined) !== (spoke === undefined)) {
    context.say('Give both: --hub and --spoke.')
    return 2
  }
  const kubeconfigs =
    hub === undefined || spoke === undefined ? undefined : { hub: readNamed(hub), spoke: readNamed(spoke) }
  const config = await configOf(context, options)
  await refuseInUse(config)
  const passwords = new Map<string, string>()
  await onService(context, config, async (service, tell) => {
    const { username = adminOf(config).adminUsername, generatedPassword } = service.firstAdmin ?? {}
    const password = generatedPassword ?? adminOf(config).adminPassword?.reveal() ?? ''
    passwords.set(username, generatedPassword ?? '(the one of MOORAGE_ADMIN_PASSWORD)')
    await seedParts(config, service, { username, password, passwords, hub: kubeconfigs, identityProvider, tell })
  }).catch((error: unknown) => {
    if (!(error instanceof StartRefused)) throw error
    throw new StartRefused([...error.problems, 'What was made is removed by: moorage demo reset'])
  })
  report(context, options, adminOf(config).adminUsername, passwords)
  return 0
}

/** Runs `work` on a service of the settings, at ports of its own, without jobs. */
const onService = async (
  context: RuntimeContext,
  config: LoadedConfig,
  work: (service: RunningService, tell: (text: string) => void) => Promise<void>,
): Promise<void> => {
  const anyPort = { host: '127.0.0.1', port: 0 }
  const addresses = { listen: anyPort, marketplaceListen: anyPort, opsListen: anyPort, baseUrl: undefined }
  const progress = makeProgress(context)
  progress.show('Starting the service and making its tables …')
  const service = await startRunning({
    config: { ...config, settings: { ...config.settings, ...addresses } },
    log: silentLog,
    runsJobs: false,
  }).finally(() => progress.clear())
  try {
    await work(service, (text) => progress.show(text))
  } finally {
    progress.clear()
    await service.stop({ drains: false })
  }
}

const refuseInUse = async ({ settings }: LoadedConfig): Promise<void> => {
  const database = await openStore(settings)
  try {
    if (await isInUse(database))
      throw new StartRefused([
        'The database has accounts already. The demonstration needs an empty one. If it has an earlier ' +
          'demonstration, run: moorage demo reset. Otherwise name another data folder in MOORAGE_DATA_DIR.',
      ])
  } finally {
    await database.close()
  }
}

interface Seeding {
  readonly username: string
  readonly password: string
  readonly passwords: Map<string, string>
  readonly hub: DemoHub | undefined
  readonly identityProvider: string | undefined
  tell(text: string): void
}

const seedParts = async (
  { parts, settings }: LoadedConfig,
  service: RunningService,
  { username, password, passwords, hub, identityProvider, tell }: Seeding,
): Promise<void> =>
  asAdmin(service, username, async (base, { ask, tokenId }) => {
    const passwordOf: DemoWorld['passwordOf'] = (login) => {
      const made = passwords.get(login) ?? newPassword()
      passwords.set(login, made)
      return made
    }
    const world: DemoWorld = { ...base, hub, identityProvider, passwordOf, tell }
    for (const part of parts) if (part.demo !== undefined && isOpenPart(part, settings)) await part.demo(world)
    const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    await ask('DELETE', `/users/${username}/tokens/${tokenId}`, undefined, basic)
  })

const tokenStart = 'demo seed'

type Ask = (method: string, path: string, body: unknown, authorization: string) => Promise<unknown>

/** Sends requests with a token that is made for it. */
const asAdmin = async (
  { baseUrl, container }: RunningService,
  username: string,
  work: (
    world: Omit<DemoWorld, 'hub' | 'identityProvider' | 'passwordOf' | 'tell'>,
    more: { readonly ask: Ask; readonly tokenId: number },
  ) => Promise<void>,
): Promise<void> => {
  const api = makeUndiciApiClient({ server: baseUrl, headers: { 'content-type': 'application/json' } })
  const ask: Ask = async (method, path, body, authorization) => {
    const text = body === undefined ? undefined : toWireJson(body)
    const reply = await api.send({ method, path: `/api/v1${path}`, headers: { authorization }, body: text })
    if (reply.status >= 300) throw new StartRefused([`${method} ${path}: ${reply.status} ${reply.body}`])
    return reply.body === '' ? undefined : fromWireJson(reply.body)
  }
  const clock = container.resolve(ClockPort)
  const user = await container.resolve(IdentityStoresPort).users.byLogin(username)
  if (user === undefined) throw new StartRefused([`The user ${username} does not exist (MOORAGE_ADMIN_USERNAME).`])
  const created = await makeCreateToken({
    unitOfWork: container.resolve(IdentityUnitOfWorkPort),
    digest: container.resolve(TokenDigestPort),
    entropy: container.resolve(EntropyPort),
    clock,
  })(operatorCall('demo.token'), {
    owner: { userId: user.id, login: user.login },
    name: `${tokenStart} ${randomUUID()}`,
    scopes: ['all'],
    expiresAt: undefined,
  })
  if (isLeft(created)) throw new StartRefused([created.left.message])
  const { value, record } = created.right
  const send: DemoWorld['send'] = (method, path, body) => ask(method, path, body, `token ${value.reveal()}`)
  const idOf: DemoWorld['idOf'] = async (name) =>
    Number(((await send('GET', `/orgs/${name}`)) as { readonly id?: unknown }).id)
  try {
    await work({ vendor, customers, clients, now: clock.now(), container, send, idOf }, { ask, tokenId: record.id })
  } finally {
    await api.close()
  }
}

const report = (
  context: RuntimeContext,
  options: CommonOptions,
  admin: string,
  passwords: ReadonlyMap<string, string>,
): void => {
  const whatOf = (login: string): string =>
    organizations.flatMap(({ name, people }) =>
      people.flatMap((person) => (person.login === login ? [`${person.team} of ${name}`] : [])),
    )[0] ?? (login === admin ? 'site admin' : '')
  const people = [...passwords].map(([login, password]) => ({ login, password, what: whatOf(login) }))
  if (options.json === true) return printJson(context, { people, organizations: organizations.map(({ name }) => name) })
  context.print('The demonstration is ready. Who can sign in, with passwords that are shown only now:')
  for (const { login, password, what } of people) context.print(`  ${login.padEnd(8)} ${password.padEnd(18)} ${what}`)
  context.print('Start the service with the same settings: moorage serve. To remove it all: moorage demo reset')
}

export interface ResetOptions extends CommonOptions {
  readonly keepHub?: boolean
}

/** Empties a database that `demo seed` has filled, with what was added to it in the accounts of the demonstration. */
export const resetDemo = async (context: RuntimeContext, options: ResetOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const hasHub = await onLoading(config, (loading, database) => hasObjectsOnHub(config, loading, database))
  if (hasHub && options.keepHub !== true) await removeFromHub(context, config)
  await onLoading(config, async (loading, database) => {
    await loading.empty()
    await migrateUp(database, { migrations: await migrationsFor(config, database) })
  })
  if (options.json === true) printJson(context, { reset: true })
  else context.print('Removed the demonstration. The database is empty.')
  return 0
}

const onLoading = async <A>(
  { settings }: LoadedConfig,
  work: (loading: Loading, database: SqlDatabase) => Promise<A>,
): Promise<A> => {
  const database = await openStore(settings)
  try {
    const loading = await openLoading(database)
    try {
      return await work(loading, database)
    } finally {
      await loading.close()
    }
  } finally {
    await database.close()
  }
}

/** Reports whether the demonstration connects to clusters. Refuses a database with anything else. */
const hasObjectsOnHub = async (config: LoadedConfig, loading: Loading, database: SqlDatabase): Promise<boolean> => {
  // An earlier reset has begun to empty it.
  if ((await loading.state()).kind === 'unfinished') return false
  const status = await migrationStatus(database, await migrationsFor(config, database))
  if (status.every(({ state }) => state === 'pending'))
    throw new StartRefused(['The database has no tables: there is no demonstration to remove.'])
  if (!isCurrent(status))
    throw new StartRefused(['The schema is not that of this version. See: moorage migrate status'])
  await refuseOtherData(database, adminOf(config).adminUsername)
  const connected = await database.query((k) => k('clusters').whereNotNull('sealed_credential').select('id').limit(1))
  return connected.length > 0
}

const removeFromHub = async (context: RuntimeContext, config: LoadedConfig): Promise<void> => {
  const { parts, settings } = config
  try {
    await onService(context, config, (service, tell) =>
      asAdmin(service, adminOf(config).adminUsername, async (world) => {
        for (const part of parts.toReversed())
          if (part.demoRemoval !== undefined && isOpenPart(part, settings)) await part.demoRemoval({ ...world, tell })
      }),
    )
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    throw new StartRefused([
      ...error.problems,
      'Not everything was removed from the hub, and the database is kept. Try again; if the hub is gone: ' +
        'moorage demo reset --keep-hub',
    ])
  }
}

const refuseOtherData = async (database: SqlDatabase, admin: string): Promise<void> => {
  const alive = await makeSqlInstanceRegister(database, '').alive()
  if (alive.length > 0) throw new StartRefused(['A service uses the database. Stop it first. Nothing was removed.'])
  const accounts = await database.query<{ readonly lower_name: string }>((k) => k('accounts').select('lower_name'))
  const described = await database.query((k) => k('organizations').where('description', demoDescription).select('id'))
  // A seed that did not end may have made none.
  const begun = await database.query((k) => k('access_tokens').where('name', 'like', `${tokenStart} %`).select('id'))
  if (described.length === 0 && begun.length === 0)
    throw new StartRefused(['The database has no demonstration. Nothing was removed.'])
  const own = new Set([
    admin.toLowerCase(),
    ...organizations.flatMap(({ name, people }) => [name, ...people.map(({ login }) => login)]),
  ])
  const others = accounts.map(({ lower_name: name }) => name).filter((name) => !own.has(name.split('+')[0] ?? ''))
  if (others.length > 0)
    throw new StartRefused([
      `The database has accounts that the demonstration did not make: ${others.slice(0, 5).join(', ')}. Nothing was removed.`,
    ])
}
