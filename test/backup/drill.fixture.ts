import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSnapshot } from '../../adapters/sql/kernel/backup/snapshot.ts'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { ExecutionContext } from 'ava'
import { toWireJson } from '../../core/kernel/json.ts'
import { openPatiently } from '../support/databases.ts'

/** Everything of a drill; it goes with the process. */
const folder = mkdtempSync(join(tmpdir(), 'moorage-backup-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const passphraseFile = join(folder, 'passphrase')
writeFileSync(passphraseFile, 'a passphrase of several words\n')

let names = 0
export const newPath = (end = ''): string => join(folder, `${(names += 1)}${end}`)

/** A deployment by its settings. */
export type Settings = Readonly<Record<string, string>>

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** `moorage backup …` over a deployment, in this process. */
export const backup = async (settings: Settings, ...words: readonly string[]): Promise<Ran> => {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await runCommandLine(['backup', ...words], {
    environment: settings,
    print: (text) => void out.push(text),
    say: (text) => void err.push(text),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** Every row of a database, sorted, by table. What a restore leaves out or resets is not compared. */
export const rowsOf = async (databaseUrl: string): Promise<ReadonlyMap<string, readonly string[]>> => {
  const database = await openPatiently(databaseUrl)
  const snapshot = await openSnapshot(database, { copy: newPath('.copy') })
  try {
    const all = new Map<string, readonly string[]>()
    for (const table of snapshot.tables) {
      const columns = table.columns
        .map(({ name }) => name)
        .filter((name) => table.name !== 'leases' || name !== 'until')
      const rows: string[] = []
      for await (const row of snapshot.rows({
        ...table,
        columns: table.columns.filter(({ name }) => columns.includes(name)),
      }))
        rows.push(
          toWireJson(row.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))),
        )
      all.set(table.name, [...rows.sort(), `next ${table.nextNumber ?? 1}`])
    }
    return all
  } finally {
    await snapshot.close()
    await database.close()
  }
}

/** The settings of a deployment with a data folder of its own. */
export const newDeployment = (databaseUrl?: string): Settings => {
  const data = newPath()
  return {
    MOORAGE_DATA_DIR: data,
    MOORAGE_DATABASE_URL: databaseUrl ?? `sqlite:${data}/moorage.sqlite`,
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_BILLING_ENABLED: 'true',
    MOORAGE_DATABASE_TIMEOUT_SECONDS: '30',
    MOORAGE_TLS: 'false',
  }
}

type Texts = string | readonly string[]

/** What differs between two maps, shortly. */
export const differences = (one: ReadonlyMap<string, Texts>, other: ReadonlyMap<string, Texts>): readonly string[] =>
  [...new Set([...one.keys(), ...other.keys()])].flatMap((key) => {
    const [a, b] = [one, other].map((map) => [map.get(key) ?? []].flat())
    const only = (from: readonly string[] = [], without: readonly string[] = []): readonly string[] =>
      from.filter((text) => !without.includes(text)).slice(0, 3)
    return [...only(a, b).map((text) => `${key} - ${text}`), ...only(b, a).map((text) => `${key} + ${text}`)]
  })

/** Changes a service one after the other until it is stopped. Returns what it acknowledged. */
const writing = ({ of, token }: UnderLoad) => {
  const acknowledged: string[] = []
  let isOver = false
  const done = (async () => {
    for (let n = 0; !isOver; n += 1) {
      const name = `load-${String(n).padStart(5, '0')}`
      const { status, text } = await of.send('POST', '/api/v1/orgs/harbour/teams', {
        token,
        body: { name, permission: 'read' },
      })
      if (status !== 201) throw new Error(text)
      acknowledged.push(name)
    }
  })()
  const stop = async (): Promise<void> => {
    isOver = true
    await done
  }
  return { acknowledged, stop }
}

interface UnderLoad {
  readonly of: TestService
  readonly settings: Settings
  /** Of a user who may make teams of the organization harbour. */
  readonly token: string
  readonly target: Settings
}

/** A backup under load has what was acknowledged before it began, and nothing without what came before. */
export const underLoad = async (t: ExecutionContext, given: UnderLoad): Promise<void> => {
  const { settings, target } = given
  const writer = writing(given)
  await until('there is load', () => writer.acknowledged.length > 20 || undefined)
  const before = writer.acknowledged.length
  const archive = newPath('.tar')
  const created = await backup(settings, 'create', archive, '--passphrase-file', passphraseFile)
  t.is(created.code, 0, created.err)
  await writer.stop()
  const restored = await backup(target, 'restore', archive, '--passphrase-file', passphraseFile)
  t.is(restored.code, 0, restored.err + restored.out)
  const teams = (await rowsOf(target['MOORAGE_DATABASE_URL'] ?? '')).get('teams')?.join() ?? ''
  const has = writer.acknowledged.map((name) => teams.includes(`"${name}"`))
  const last = has.lastIndexOf(true)
  t.true(last + 1 >= before, `${last} of ${before}`)
  t.false(has.slice(0, last + 1).includes(false), 'a prefix of what was written')
}
