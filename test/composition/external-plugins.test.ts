import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import { loadOutsideParts } from '../../composition/runtime/outside-parts.ts'
import { loadParts } from '../../composition/parts.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import { startService } from '../support/service.ts'
import { ourMigrations } from '../support/schema.ts'

const here = fileURLToPath(new URL('./', import.meta.url))
const slowPlugin = join(here, 'fixtures', 'slow-plugin.ts')
const folder = mkdtempSync(join(tmpdir(), 'moorage-plugins-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const outside = async (places: readonly string[], from: string) => loadOutsideParts(places, from, await loadParts())

test("a deployer's plugin is loaded by relative path with its own ports", async (t) => {
  const [loaded] = (await outside(['./fixtures/slow-plugin.ts'], here)).parts
  t.is(loaded?.plugin.id, 'slow')
  const service = await startService({ settings: { MOORAGE_PLUGINS: slowPlugin } })
  t.teardown(() => service.stop())
  const answer = await service.send('GET', '/api/v1/slow/0')
  t.is(answer.status, 200, answer.text)
  t.is(answer.json.text, 'done on SelfHosted')
})

test('a package is found by its name from the folder', async (t) => {
  const place = join(folder, 'node_modules', 'my-plugin')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"name":"my-plugin","type":"module","main":"main.js"}')
  writeFileSync(
    join(place, 'main.js'),
    `import { definePart } from 'moorage/composition/part'
import { definePlugin } from 'moorage/plugins/kit/plugin'
export const part = definePart({
  plugin: definePlugin({ id: 'mine', summary: '', listener: 'api', gate: 'always', groups: [] }),
})
`,
  )
  const [loaded] = (await outside(['my-plugin'], folder)).parts
  t.is(loaded?.plugin.id, 'mine')
})

test('a plugin outside a package imports names that package.json exports', async (t) => {
  writeFileSync(
    join(folder, 'outside.ts'),
    `import * as t from 'io-ts'
import { right } from 'fp-ts/lib/Either.js'
import { definePart } from 'moorage/composition/part'
import { releaseVersion } from 'moorage/core/platform/version'
import { anyone } from 'moorage/plugins/kit/access'
import { defineGroup } from 'moorage/plugins/kit/group'
import { handle } from 'moorage/plugins/kit/handle'
import { definePlugin } from 'moorage/plugins/kit/plugin'
import { json } from 'moorage/plugins/kit/reply'
import { defineRoute } from 'moorage/plugins/kit/route'

const tide = defineRoute({ id: 'tide.get', method: 'GET', path: '/tide', summary: 'Tell the tide', tag: 'Tide', access: anyone,
  ok: json(200, t.type({ of: t.string }), { of: 'v1' }), failures: [] })
const tideGroup = defineGroup({ needs: {}, routes: () => [handle(tide, async () => right({ of: releaseVersion }))] })
const plugin = definePlugin({ id: 'tide', summary: 'Tides', listener: 'api', gate: 'always', groups: [tideGroup] })
export const part = definePart({ plugin, tags: [{ name: 'Tide', description: 'Tides of the harbour.' }] })
`,
  )
  const service = await startService({ settings: { MOORAGE_PLUGINS: join(folder, 'outside.ts') } })
  t.teardown(() => service.stop())
  t.deepEqual((await service.send('GET', '/api/v1/tide')).json, { of: releaseVersion })
})

test('names that package.json does not export stay closed to plugins', async (t) => {
  for (const closed of [
    'composition/http/bind-route',
    'core/../adapters/outbound/egress-policy',
    'adapters/sql/../outbound/egress-policy',
    'plugins/../composition/parts/tasks/part.routes',
  ]) {
    writeFileSync(join(folder, 'curious.ts'), `import 'moorage/${closed}'\nexport const plugin = 1\n`)
    const { problems } = await outside([`./curious.ts`], folder)
    t.regex(problems[0] ?? '', /curious\.ts cannot be loaded: Cannot find package 'moorage'/, closed)
  }
})

test('all plugins that cannot be loaded are reported at once', async (t) => {
  writeFileSync(join(folder, 'empty.mjs'), 'export const nothing = 1\n')
  writeFileSync(
    join(folder, 'bare.mjs'),
    "export const part = { plugin: { id: 'bare', summary: '', listener: 'api', gate: 'always', needs: {}, routes: () => [] } }\n",
  )
  writeFileSync(join(folder, 'throws.mjs'), "throw new Error('no licence')\n")
  writeFileSync(join(folder, 'old.mjs'), 'export const plugin = {}\nexport const provide = () => undefined\n')
  const { parts, problems } = await outside(
    ['./empty.mjs', './throws.mjs', './absent.mjs', 'no-such-package', './bare.mjs', './old.mjs'],
    folder,
  )
  t.deepEqual(parts, [])
  t.is(problems.length, 6)
  t.regex(problems[0] ?? '', /empty\.mjs must export `part`/)
  t.regex(problems[1] ?? '', /throws\.mjs cannot be loaded: no licence/)
  t.regex(problems[4] ?? '', /bare\.mjs must export `part`, made by definePart/)
  t.regex(problems[5] ?? '', /old\.mjs exports `plugin`, the form of earlier releases: export `part` instead/)
  t.true(problems.every((problem) => !problem.includes('\n')))
})

test('a plugin that claims a route of the service is refused at the start', async (t) => {
  const path = join(here, 'fixtures', 'clashing-plugin.ts')
  await t.throwsAsync(startService({ settings: { MOORAGE_PLUGINS: path } }), {
    instanceOf: StartRefused,
    message: /\/api\/v1\/version of clash\.version is already/,
  })
})

test('a plugin with a fault of its own is named, and the schema is not migrated before', async (t) => {
  const declared = (provide: string): string =>
    "import { definePart } from 'moorage/composition/part'\nimport { definePlugin } from 'moorage/plugins/kit/plugin'\n" +
    "const plugin = definePlugin({ id: 'tide', summary: '', listener: 'api', gate: 'always', groups: [] })\n" +
    `export const part = definePart({ plugin, provide: ${provide} })\n`
  const reasonFor = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    writeFileSync(path, text)
    const dataDir = join(folder, `data-of-${name}`)
    const settings = {
      MOORAGE_PLUGINS: path,
      MOORAGE_DATA_DIR: dataDir,
      MOORAGE_DATABASE_URL: `sqlite:${join(dataDir, 'tide.sqlite')}`,
    }
    const error = await t.throwsAsync(startService({ settings }), { instanceOf: StartRefused })
    mkdirSync(dataDir, { recursive: true })
    const database = await openDatabase(settings.MOORAGE_DATABASE_URL)
    const states = new Set(
      (await migrationStatus(database, ourMigrations).finally(() => database.close())).map(({ state }) => state),
    )
    t.deepEqual(states, new Set(['pending']), 'an earlier version can still start')
    return error.message
  }
  t.regex(
    await reasonFor('wet.mjs', declared("() => { throw new Error('the tables are wet') }")),
    /^`provide` of the plugin tide failed: the tables are wet \(.*wet\.mjs:4:\d+\)$/,
  )
  t.regex(
    await reasonFor('late.mjs', declared('async () => []')),
    /^`provide` of the plugin tide must return a list of bind.*, and must not be async/,
  )
  t.regex(
    await reasonFor('gate.mjs', declared('() => []').replace("'always'", "'allways'")),
    /gate allways, which must be one of always, vendor-hosted/,
  )
})
