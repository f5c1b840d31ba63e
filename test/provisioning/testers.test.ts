// process: waiting - uses components
import { join } from 'node:path'
import { clientSources, commandPath, pythonPackages, toolEnvironment } from '../openapi/generators.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import type { DirectoryFixture } from './directory-fixture.ts'
import { scimPath, startDirectoryFixture } from './directory-fixture.ts'

/** Public testers of SCIM, which know RFC 7643 and 7644 independently of this service. */
const test = needing('generators')

let fixture: DirectoryFixture
test.before(async () => {
  fixture = await startDirectoryFixture()
})
test.after.always(() => fixture?.stop())

const run = async (...args: readonly string[]) => {
  const python = commandPath('python3', 'install Python 3.11 or newer with pip (Debian: python3-pip)')
  const environment = toolEnvironment({ PYTHONPATH: await pythonPackages('scim-testers') })
  return runCommand(python, args, { environment, timeoutMilliseconds: 240_000 })
}
const address = (): string => `${fixture.service.baseUrl}${scimPath('acme')}`

test.serial('scim2-tester finds no error', async (t) => {
  t.timeout(300_000)
  const { stdout, stderr } = await run(join(clientSources, 'scim-testers/check.py'), address(), fixture.tokenOf('acme'))
  const lines = stdout.trim().split('\n')
  // A search over users and groups at once is not served, which the standard permits.
  const others = lines.slice(0, -1).filter((line) => !line.startsWith('SKIPPED search_with_attributes'))
  t.deepEqual(others, [], stderr)
  t.true(Number.parseInt(lines.at(-1) ?? '', 10) > 100, lines.at(-1))
})

for (const profile of [[], ['--profile', 'entra']])
  test.serial(`scim-sanity finds no error ${profile.join(' ')}`.trim(), async (t) => {
    t.timeout(300_000)
    const options = ['--token', fixture.tokenOf('acme'), '--i-accept-side-effects', '--json-output', ...profile]
    const { status, stdout, stderr } = await run('-m', 'scim_sanity', 'probe', address(), ...options)
    const { summary } = JSON.parse(stdout) as { summary: Record<string, number> }
    t.is(status, 0, stderr)
    t.like(summary, { failed: 0, errors: 0 }, stdout)
    t.true((summary['passed'] ?? 0) > 20)
  })
