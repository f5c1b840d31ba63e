import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { startService } from '../support/service.ts'

test('moorage audit verify tells a whole log from an altered one', async (t) => {
  const url = `sqlite:${await migratedSqlitePath()}`
  const folder = mkdtempSync(join(tmpdir(), 'moorage-audit-'))
  const environment = { MOORAGE_DATABASE_URL: url, MOORAGE_DATA_DIR: folder }
  const service = await startService({ settings: environment })
  const verify = async () => {
    const lines: string[] = []
    const exitCode = await runCommandLine(['audit', 'verify', '--json'], { environment, print: (text) => void lines.push(text), say: () => undefined })
    const printed: unknown = JSON.parse(lines.join('\n'))
    return { exitCode, printed: printed as { readonly isWhole: boolean; readonly chains: readonly { readonly rows: number }[] } }
  }
  try {
    const whole = await verify()
    t.deepEqual([whole.exitCode, whole.printed.isWhole], [0, true])
    t.true(whole.printed.chains.length > 0)
    const db = await openDatabase(url)
    await db.query((k) => k('audit_events').update({ actor_name: 'somebody' }))
    await db.close()
    const altered = await verify()
    t.deepEqual([altered.exitCode, altered.printed.isWhole], [1, false])
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
