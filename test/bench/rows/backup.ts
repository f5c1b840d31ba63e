import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { runBackup } from '../../backup/backup-process.ts'
import { bars } from '../bars.ts'
import { startBenchService } from '../service-process.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'

interface Done {
  readonly seconds: number
  /** The most memory that the process had, in MiB. */
  readonly peak: number
}

const timed = async (environment: Readonly<Record<string, string>>, words: readonly string[]): Promise<Done> => {
  const startedAt = performance.now()
  const { code, err, peak } = await runBackup(environment, words)
  if (code !== 0) throw new Error(`backup ${words[0]} ended with ${code}: ${err}`)
  return { seconds: (performance.now() - startedAt) / 1000, peak }
}

/** Row 35: a database of 10^6 rows is written to an archive, checked, and restored. */
export const backup: MeasureRow = async ({ lab, bench, run }: RowInput) => {
  const rows = run.quick ? 100_000 : 1_000_000
  const dataDir = join(lab.folder, 'data-backup')
  const target = join(lab.folder, 'data-restored')
  mkdirSync(target, { recursive: true })
  bench.progress.measuring(`backup of ${rows} rows`, run.quick ? 15 : 150)
  await (await startBenchService({ name: 'service with many rows', folder: lab.folder, dataDir })).stop()
  const file = new Database(join(dataDir, 'moorage.sqlite'), { fileMustExist: true })
  file.exec(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows}) ` +
      'insert into idempotency_records (key_hash, request_hash, state, created_at) ' +
      "select randomblob(32), randomblob(32), 'answered', i from n",
  )
  file.close()
  const archive = join(lab.folder, 'bench-backup.tar')
  const keyring = join(dataDir, 'keyring.json')
  const from = { MOORAGE_DATA_DIR: dataDir, MOORAGE_KEYRING: keyring }
  const into = { MOORAGE_DATA_DIR: target, MOORAGE_KEYRING: keyring }
  const made = await timed(from, ['create', archive, '--no-key-ring'])
  const checked = await timed(from, ['verify', archive])
  const restored = await timed(into, ['restore', archive])
  const line = (row: string, what: string, { seconds }: Done): BenchLine => ({
    row,
    what,
    ours: {},
    against: '-',
    value: seconds,
    bestValue: seconds,
    unit: ' s',
    bar: bars.backup,
    note: `most memory: ${[made, checked, restored].map(({ peak }) => Math.round(peak)).join(', ')} MiB`,
  })
  return [
    line('35', `backup create, ${rows} rows`, made),
    line('35 verify', `backup verify, ${rows} rows`, checked),
    line('35 restore', `backup restore, ${rows} rows`, restored),
  ]
}
