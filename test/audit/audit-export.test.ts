import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { runCommandLine } from '../../composition/cli/command-line.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { startService } from '../support/service.ts'

interface Line {
  readonly id: number
  readonly action: string
}

test('the log is copied by route and by command, each from where the last copy ended', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-audit-export-'))
  const environment = { MOORAGE_DATABASE_URL: `sqlite:${await migratedSqlitePath()}`, MOORAGE_DATA_DIR: folder }
  const service = await startService({ settings: environment })
  const byRoute = async (path: string, token = service.adminToken) => {
    const answer = await fetch(`${service.baseUrl}/api/v1${path}`, { headers: { authorization: `token ${token}` } })
    const text = await answer.text()
    return { status: answer.status, type: answer.headers.get('content-type'), lines: text.split('\n').filter((line) => line.startsWith('{"id"')).map((line) => JSON.parse(line) as Line) }
  }
  const byCommand = async (...options: readonly string[]) => {
    const printed: string[] = []
    const exitCode = await runCommandLine(['audit', 'export', ...options], { environment, print: (text) => void printed.push(text), say: () => undefined })
    return { exitCode, lines: printed.map((line) => JSON.parse(line) as Line) }
  }
  try {
    const all = await byRoute('/admin/audit/export')
    t.like(all, { status: 200, type: 'application/x-ndjson' })
    t.true(all.lines.length > 0)
    t.deepEqual(all.lines.map(({ id }) => id), all.lines.map(({ id }) => id).toSorted((a, b) => a - b))
    const last = all.lines.at(-1)?.id ?? 0
    t.deepEqual((await byRoute(`/admin/audit/export?after=${last}`)).lines, [])
    t.is((await byRoute(`/admin/audit/export?after=x`)).status, 400)
    const copied = await byCommand()
    t.is(copied.exitCode, 0)
    t.deepEqual(copied.lines.map(({ id }) => id).slice(0, all.lines.length), all.lines.map(({ id }) => id))
    t.deepEqual((await byCommand('--after', String(copied.lines.at(-1)?.id ?? 0))).lines, [])
    t.deepEqual((await byCommand('--since', '2999-01-01')).lines, [])
    for (const wrong of [['--since', 'yesterday'], ['--after', 'x']]) t.is((await byCommand(...wrong)).exitCode, 2)
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
