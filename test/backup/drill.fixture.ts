import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { openSnapshot } from '../../adapters/sql/kernel/backup/snapshot.ts'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { openPatiently } from '../support/databases.ts'

/** Everything of a drill; it goes with the process. */
export const folder = mkdtempSync(join(tmpdir(), 'moorage-backup-'))
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
