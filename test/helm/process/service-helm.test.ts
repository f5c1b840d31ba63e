// process: waiting - uses components
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import anyTest from 'ava'
import { runCommandLine } from '../../../composition/moorage.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const test = needing('helm')

const run = async (words: readonly string[], environment: Record<string, string>) => {
  const lines: string[] = []
  const code = await runCommandLine(words, {
    environment,
    print: (text) => void lines.push(text),
    say: (text) => void lines.push(text),
  })
  return { code, text: lines.join('\n') }
}

test('a service says which helm it uses, in its log and its readiness', async (t) => {
  const { helm4 } = (await helm())!
  const service = await startService({ settings: { MOORAGE_HELM: helm4 } })
  t.teardown(() => service.stop())
  const ready = await fetch(`${service.opsUrl}/readyz?verbose`)
  t.is(ready.status, 200)
  t.regex(await ready.text(), /\[\+\] helm/)
  const line = await until('the log says so', () => service.logLines().find(({ msg }) => msg === 'helm is there'))
  t.like(line, { origin: 'setting', path: helm4 })
})

anyTest('a service without one is ready all the same', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const ready = await fetch(`${service.opsUrl}/readyz?verbose`)
  t.is(ready.status, 200)
  t.regex(await ready.text(), /\[-\] helm/)
  await until('the log says so', () => (service.logText().includes('helm is off') ? true : undefined))
})

test('the commands name the helm in use and refuse an old one', async (t) => {
  const { helm3, helm4 } = (await helm())!
  const folder = mkdtempSync(join(tmpdir(), 'moorage-helm-command-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const told = await run(['helm', 'version', '--json'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: helm4 })
  t.is(told.code, 0)
  t.like(JSON.parse(told.text), { origin: 'setting', path: helm4 })
  t.regex(
    (await run(['helm', 'version'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: helm4 })).text,
    /^Helm 4\.\d+\.\d+ .*\(setting\)$/,
  )
  const old = await run(['helm', 'version'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: helm3 })
  t.is(old.code, 1)
  t.regex(old.text, /older than 3\.18\.6.*moorage helm install/)
  const doctor = await run(['doctor'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: helm3 })
  t.regex(doctor.text, /^problem +helm .*older than 3\.18\.6/m)
  t.regex((await run(['doctor'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: helm4 })).text, /^ok +helm .*Helm 4/m)
  t.regex((await run(['doctor'], { MOORAGE_DATA_DIR: folder, MOORAGE_HELM: 'off' })).text, /^ok +helm .*off/m)
})
