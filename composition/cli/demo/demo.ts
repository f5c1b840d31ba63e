import { randomInt } from 'node:crypto'
import { makeUndiciApiClient } from '../../../adapters/api-client/undici-api-client.ts'
import { isCurrent, migrateUp, migrationStatus } from '../../../adapters/sql/engine/migrator.ts'
import { openLoading } from '../../../adapters/sql/kernel/backup/loading.ts'
import { makeSqlInstanceRegister } from '../../../adapters/sql/kernel/instance-store.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { fromWireJson, toWireJson } from '../../../core/kernel/json.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { StartRefused } from '../../boot.ts'
import type { LoadedConfig } from '../../config/config.ts'
import { migrationsFor } from '../../migrations.ts'
import type { DemoOrganization, DemoWorld } from '../../part.ts'
import { demoDescription } from '../../part.ts'
import { isOpenPart } from '../../service/compose.ts'
import { isInUse, openStore } from '../../service/foundation.ts'
import type { RunningService } from '../../service/running-service.ts'
import { startRunning } from '../../service/running-service.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { makeProgress, printJson } from '../command-context.ts'
import { configOf } from '../loaded-config.ts'

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
const organizations = [vendor, ...customers]

const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const newPassword = (): string =>
  Array.from({ length: 3 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

const nothing = (): void => undefined
const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Fills an empty database with the demonstration, through the routes and ports of the parts. */
export const seedDemo = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  await refuseInUse(config)
  const { settings } = config
  const anyPort = { host: '127.0.0.1', port: 0 }
  const service = await startRunning({
    config: {
      ...config,
      settings: { ...settings, listen: anyPort, marketplaceListen: anyPort, opsListen: anyPort, baseUrl: undefined },
    },
    log: silentLog,
    runsJobs: false,
  })
  const passwords = new Map<string, string>()
  const progress = makeProgress(context)
  try {
    const { username = settings.adminUsername, generatedPassword } = service.firstAdmin ?? {}
    const password = generatedPassword ?? settings.adminPassword?.reveal() ?? ''
    passwords.set(username, generatedPassword ?? '(the one of MOORAGE_ADMIN_PASSWORD)')
    await seedParts(config, service, { username, password, passwords, tell: (text) => progress.show(text) })
  } finally {
    progress.clear()
    await service.stop({ drains: false })
  }
  report(context, options, settings.adminUsername, passwords)
  return 0
}

const refuseInUse = async ({ settings }: LoadedConfig): Promise<void> => {
  const database = await openStore(settings)
  try {
    if (await isInUse(database))
      throw new StartRefused([
        'The database has accounts already. The demonstration needs an empty one, such as that of another data ' +
          'folder: MOORAGE_DATA_DIR=demo moorage demo seed',
      ])
  } finally {
    await database.close()
  }
}

interface Seeding {
  readonly username: string
  readonly password: string
  readonly passwords: Map<string, string>
  tell(text: string): void
}

const seedParts = async (
  { parts, settings }: LoadedConfig,
  { baseUrl, container }: RunningService,
  { username, password, passwords, tell }: Seeding,
): Promise<void> => {
  const api = makeUndiciApiClient({ server: baseUrl, headers: { 'content-type': 'application/json' } })
  const ask = async (method: string, path: string, body: unknown, authorization: string): Promise<unknown> => {
    const text = body === undefined ? undefined : toWireJson(body)
    const reply = await api.send({ method, path: `/api/v1${path}`, headers: { authorization }, body: text })
    if (reply.status >= 300)
      throw new Error(`The demonstration failed: ${method} ${path}: ${reply.status} ${reply.body}`)
    return reply.body === '' ? undefined : fromWireJson(reply.body)
  }
  try {
    const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    const token = await ask('POST', `/users/${username}/tokens`, { name: 'demo seed', scopes: ['all'] }, basic)
    const { sha1 } = token as { readonly sha1: string }
    const send: DemoWorld['send'] = (method, path, body) => ask(method, path, body, `token ${sha1}`)
    const world: DemoWorld = {
      vendor,
      customers,
      now: container.resolve(ClockToken).now(),
      container,
      tell,
      send,
      idOf: async (name) => Number(((await send('GET', `/orgs/${name}`)) as { readonly id?: unknown }).id),
      passwordOf(login) {
        const made = passwords.get(login) ?? newPassword()
        passwords.set(login, made)
        return made
      },
    }
    for (const part of parts) if (part.demo !== undefined && isOpenPart(part, settings)) await part.demo(world)
    await ask('DELETE', `/users/${username}/tokens/${encodeURIComponent('demo seed')}`, undefined, basic)
  } finally {
    await api.close()
  }
}

const report = (
  context: CommandContext,
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

/** Empties a database that `demo seed` has filled, with what was added to it in the accounts of the demonstration. */
export const resetDemo = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const database = await openStore(config.settings)
  try {
    const migrations = await migrationsFor(config, database)
    const loading = await openLoading(database)
    try {
      if ((await loading.state()).kind !== 'unfinished') {
        if (!isCurrent(await migrationStatus(database, migrations)))
          throw new StartRefused(['The schema is not that of this version. See: moorage migrate status'])
        await refuseOtherData(database, config.settings.adminUsername)
      }
      await loading.empty()
    } finally {
      await loading.close()
    }
    await migrateUp(database, { migrations })
  } finally {
    await database.close()
  }
  if (options.json === true) printJson(context, { reset: true })
  else context.print('Removed the demonstration. The database is empty.')
  return 0
}

const refuseOtherData = async (database: SqlDatabase, admin: string): Promise<void> => {
  const alive = await makeSqlInstanceRegister(database, '').alive()
  if (alive.length > 0) throw new StartRefused(['A service uses the database. Stop it first. Nothing was removed.'])
  const accounts = await database.query<{ readonly lower_name: string }>((k) => k('accounts').select('lower_name'))
  const described = await database.query<{ readonly n: number }>((k) =>
    k('organizations').where('description', demoDescription).count('* as n'),
  )
  if (Number(described[0]?.n) !== organizations.length)
    throw new StartRefused(['The database has no demonstration, or not all of it. Nothing was removed.'])
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
