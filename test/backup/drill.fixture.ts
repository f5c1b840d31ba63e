import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readArchive } from '../../composition/runtime/cli/backup/archive.ts'
import type { StoredRow, StoredTable } from '../../adapters/sql/kernel/backup/snapshot.ts'
import { openSnapshot } from '../../adapters/sql/kernel/backup/snapshot.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { ExecutionContext } from 'ava'
import { toWireJson } from '../../core/kernel/json.ts'
import { openPatiently } from '../support/databases.ts'
import { type Ran, runIn } from '../composition/command-fixture.ts'

/** Everything of a drill; it goes with the process. */
const folder = mkdtempSync(join(tmpdir(), 'moorage-backup-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const passphraseFile = join(folder, 'passphrase')
writeFileSync(passphraseFile, 'a passphrase of several words\n')

let names = 0
export const newPath = (end = ''): string => join(folder, `${(names += 1)}${end}`)

/** A deployment by its settings. */
export type Settings = Readonly<Record<string, string>>

/** `moorage backup …` over a deployment, in this process. */
export const backup = (settings: Settings, ...words: readonly string[]): Promise<Ran> =>
  runIn(settings, 'backup', ...words)

/** The end of a lease, which a restore sets. */
const setByRestore: readonly string[] = ['leases.until']

/** As text, without some columns, each given as `table.column`. */
const textOf = ({ name, columns }: StoredTable, row: StoredRow, leftOut: readonly string[]): string =>
  toWireJson(
    row
      .filter((_, at) => !leftOut.includes(`${name}.${columns[at]?.name}`))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
  )

/**
 * Every row of a database, sorted, by table. What a restore leaves out is not compared. `tables`: those of an archive,
 * if the database may have more tables and columns.
 */
export const rowsOf = async (
  databaseUrl: string,
  tables?: readonly StoredTable[],
  leftOut = setByRestore,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const database = await openPatiently(databaseUrl)
  const snapshot = await openSnapshot(database, { copy: newPath('.copy') })
  try {
    const all = new Map<string, readonly string[]>()
    for (const table of tables ?? snapshot.tables) {
      const rows: string[] = []
      for await (const row of snapshot.rows(table)) rows.push(textOf(table, row, leftOut))
      const { nextNumber = 1 } = snapshot.tables.find(({ name }) => name === table.name) ?? {}
      all.set(table.name, [...rows.sort(), `next ${nextNumber}`])
    }
    return all
  } finally {
    await snapshot.close()
    await database.close()
  }
}

/** The same of an archive, with its tables. */
const rowsInArchive = async (
  path: string,
  leftOut: readonly string[],
): Promise<{ readonly tables: readonly StoredTable[]; readonly rows: ReadonlyMap<string, readonly string[]> }> => {
  const found: (readonly [table: string, row: StoredRow])[] = []
  const { manifest } = await readArchive(path, {
    onEntry: async (entry) => {
      if (entry.kind === 'rows') found.push(...entry.rows.map((row) => [entry.table, row] as const))
    },
  })
  const rowsOfTable = (table: StoredTable): string[] =>
    found.filter(([name]) => name === table.name).map(([, row]) => textOf(table, row, leftOut))
  return {
    tables: manifest.tables,
    rows: new Map(
      manifest.tables.map((table) => [table.name, [...rowsOfTable(table).sort(), `next ${table.nextNumber ?? 1}`]]),
    ),
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

/** The archive of a service of the last release. A release adds one, made by `moorage backup create` of this version. */
export const archiveOfLastRelease = fileURLToPath(new URL('./fixtures/v2026.11.25.tar', import.meta.url))

/** Restores it, and looks for each of its rows, the document and the people. */
export const restoresLastRelease = async (t: ExecutionContext, target: Settings): Promise<void> => {
  const words = ['restore', archiveOfLastRelease, '--passphrase-file', passphraseFile, '--sign-in']
  const signIn = newPath()
  writeFileSync(signIn, 'nora\nquiet-harbour-lantern-7\n')
  const restored = await backup(target, ...words, signIn)
  t.is(restored.code, 0, restored.err + restored.out)
  t.regex(
    restored.out,
    /ok +rows: 97 in 81 tables[^]*ok +audit log: whole, \d+ rows[^]*opens the values of 1 sealed[^]*1 site admin can sign in[^]*nora has signed in/,
  )
  // The sign-in at the end may mark its time and its network.
  const leftOut = [...setByRestore, 'users.last_login_at']
  const { tables, rows } = await rowsInArchive(archiveOfLastRelease, leftOut)
  const found = await rowsOf(target['MOORAGE_DATABASE_URL'] ?? '', tables, leftOut)
  const marked = 'identity_attempts'
  t.deepEqual(differences(new Map(found).set(marked, []), new Map(rows).set(marked, [])), [])

  const service = await startService({ settings: target })
  t.teardown(() => service.stop())
  const basic = ['nora', 'quiet-harbour-lantern-7'] as const
  t.regex((await service.send('GET', '/api/v1/authz/roles?org=harbour', { basic })).text, /"name":"watch"/)
  const link = await service.send('GET', '/api/v1/user/contracts/1/document?org=harbour', { basic })
  t.is(link.status, 200, link.text)
  t.is(await (await fetch(link.json as unknown as string)).text(), '%PDF-1.7\nof before\n%%EOF\n')
}
