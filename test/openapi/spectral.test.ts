// process: waiting - uses components
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { buildDocument } from '../../composition/runtime/http/openapi/document.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand, type CommandResult } from '../support/components/run-command.ts'
import { declaredRoutes, documentTags } from '../support/declared-routes.ts'
import { clientSources, nodePackages, toolEnvironment } from './generators.ts'

/** The packages of spectral take 110 MB, so it is a tool of the slow run; redocly runs each time (document.test.ts). */

const test = needing('generators')

const document = (): string =>
  toWireJson(
    buildDocument(declaredRoutes(), {
      baseUrl: 'https://moorage.test',
      sessionCookie: 'moorage_session',
      deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
      tags: documentTags,
    }),
  )

const lint = async (t: ExecutionContext, text: string): Promise<CommandResult> => {
  t.timeout(600_000)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-spectral-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'openapi.json')
  writeFileSync(file, text)
  const cli = join(await nodePackages('spectral'), 'node_modules', '@stoplight', 'spectral-cli', 'dist', 'index.js')
  const rules = join(clientSources, 'spectral', 'ruleset.yaml')
  return runCommand(process.execPath, [cli, 'lint', '--fail-severity=hint', '--ruleset', rules, file], {
    environment: toolEnvironment(),
  })
}

test('spectral finds nothing to complain about', async (t) => {
  const { status, stdout, stderr } = await lint(t, document())
  t.is(status, 0, stdout + stderr)
})

test('spectral is alive: a document with a wrong example fails', async (t) => {
  const { status, stdout } = await lint(t, document().replaceAll('"login":"ada"', '"login":7'))
  t.is(status, 1)
  t.regex(stdout, /oas3-valid-media-example/)
})
