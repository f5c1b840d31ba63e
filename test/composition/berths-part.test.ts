import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'

/**
 * A part from outside, a package of its own in JavaScript that brings one of everything. `docs/plugins.md` walks
 * through it; the slow tests install it beside our tarball.
 */
const berths = fileURLToPath(new URL('./fixtures/berths-part/', import.meta.url))
const place = join(berths, 'part.js')
const folder = mkdtempSync(join(tmpdir(), 'moorage-berths-'))
const keyring = { MOORAGE_KEYRING: join(folder, 'keyring.json') }
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

// One service: the later cases see what the earlier ones have made.
let service: PopulatedService
test.before(async () => {
  service = await startPopulatedService({ MOORAGE_PLUGINS: place, MOORAGE_BERTHS_MAX: '2', ...keyring })
})
test.after.always(() => service?.stop())

const run = async (line: string, environment: Readonly<Record<string, string>> = {}) => {
  const output: string[] = []
  const add = (text: string) => void output.push(text)
  const code = await runCommandLine(line.split(' '), {
    environment: { MOORAGE_PLUGINS: place, ...environment },
    print: add,
    say: add,
  })
  return { code, text: output.join('\n') }
}

const as = async (login: string) => {
  const token = await service.tokenFor(login)
  return (method: string, path: string, body?: unknown) =>
    service.send(method, `/api/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
}

test.serial("routes: people can do exactly the part's declared relations", async (t) => {
  const [alice, eddie, vera, dora] = [await as('alice'), await as('eddie'), await as('vera'), await as('dora')]
  const made = await alice('POST', '/berths/harbour', { name: 'east' })
  t.is(made.status, 201, made.text)
  t.is((await alice('POST', '/berths/harbour', { name: 'east' })).status, 409)
  t.is((await alice('POST', '/berths/harbour', { name: 'west' })).status, 201)
  const full = await alice('POST', '/berths/harbour', { name: 'south' })
  t.deepEqual([full.status, full.json.message], [422, 'An account may have 2 berths.'])
  t.is((await alice('POST', '/berths/harbour', { name: '' })).status, 422)

  const ship = { ship: 'Argo', days: 2 }
  t.is((await vera('PUT', '/berths/harbour/east/ship', ship)).status, 403)
  t.is((await eddie('PUT', '/berths/harbour/east/ship', ship)).status, 204)
  t.is((await eddie('PUT', '/berths/harbour/east/ship', ship)).status, 409)
  t.is((await eddie('POST', '/berths/harbour', { name: 'x' })).status, 403)
  t.deepEqual(
    ((await vera('GET', '/berths/harbour')).json as { name: string; ship?: string }[]).map(({ name, ship }) => [
      name,
      ship,
    ]),
    [
      ['east', 'Argo'],
      ['west', undefined],
    ],
  )
  for (const [method, path, body] of [
    ['GET', '/berths/harbour', undefined],
    ['POST', '/berths/harbour', { name: 'x' }],
    ['PUT', '/berths/harbour/west/ship', ship],
    ['DELETE', '/berths/harbour/west', undefined],
  ] as const)
    t.is((await dora(method, path, body)).status, 404, `${method} ${path}`)
  t.is((await alice('DELETE', '/berths/harbour/none')).status, 404)
  const question = [{ objectType: 'berth', objectID: made.json.id }]
  const allowed = async (who: typeof vera) => {
    const { json } = await who('POST', '/authz/objects/allowed-permissions?org=harbour', question)
    return (json as { allowedPermissions: string[] }[])[0]?.allowedPermissions
  }
  t.deepEqual(await allowed(vera), ['can_view'])
  t.deepEqual(await allowed(alice), ['can_moor', 'can_remove', 'can_view'])
})

test.serial('a change is audited, and an Idempotency-Key makes it once', async (t) => {
  const token = await service.tokenFor('alice')
  const remove = () =>
    service.send('DELETE', '/api/v1/berths/harbour/west', { token, headers: { 'Idempotency-Key': 'berths-west' } })
  t.deepEqual([(await remove()).status, (await remove()).status], [204, 204])
  const actions = service
    .rows("select action, object_name from audit_events where action like 'berth.%' order by id")
    .map(({ action, object_name: name }) => `${String(action)} ${String(name)}`)
  t.deepEqual(actions, ['berth.created east', 'berth.created west', 'berth.moored east', 'berth.removed west'])
})

test.serial('the port of ours that the part replaces, its metrics and its job', async (t) => {
  const metrics = async () => (await fetch(`${service.opsUrl}/metrics`)).text()
  const reads = async () => Number(/\nmoorage_berths_role_reads (\d+)\n/.exec(await metrics())?.[1])
  const before = await reads()
  const roles = await (await as('alice'))('GET', '/authz/roles?org=harbour')
  t.deepEqual([roles.status, (roles.json as unknown[]).length > 0], [200, true])
  t.is(await reads(), before + 1)
  t.regex(await metrics(), /\nmoorage_berths_objects\{kind="berths"\} 1\nmoorage_berths_objects\{kind="ships"\} 1\n/)
  const job = service.running.assembly.jobs.find(({ job: { id } }) => id === 'berths.castOff')?.job
  await job?.run(new AbortController().signal)
  t.is(service.rows('select * from berths_ships').length, 1)
  await service.write('update berths_ships set leaves_at = 1')
  await job?.run(new AbortController().signal)
  t.deepEqual(service.rows('select * from berths_ships'), [])
})

test.serial('its page and its script are served, and its tag is in the description', async (t) => {
  const page = await service.send('GET', '/berths')
  t.is(page.status, 200)
  t.regex(page.text, /<title>Berths - Moorage<\/title>\n<script type="module" src="\.\/account\/berths\.js">/)
  t.regex(page.text, /id="message"/)
  t.true(String(page.headers['content-security-policy']).includes("script-src 'self'"))
  const script = await service.send('GET', '/account/berths.js')
  t.is(script.text, readFileSync(join(berths, 'page.client.js'), 'utf8'))
  const { json } = await service.send('GET', '/api/v1/openapi.json')
  const { tags, paths } = json as { tags: { name: string; description: string }[]; paths: object }
  t.deepEqual(tags.at(-1), { name: 'Berths', description: 'Berths of organizations and users.' })
  t.deepEqual(
    Object.keys(paths).filter((path) => path.includes('berths')),
    ['/berths/{owner}', '/berths/{owner}/{berth}', '/berths/{owner}/{berth}/ship'],
  )
})

test.serial('its command, its check of doctor, its setting and its migration', async (t) => {
  const store = { MOORAGE_DATABASE_URL: service.databaseUrl, MOORAGE_DATA_DIR: folder, ...keyring }
  t.deepEqual(await run('berths count', store), { code: 0, text: '1 berths, 0 ships' })
  t.regex((await run('--help')).text, /\n {2}berths +Berths of accounts\./)
  t.regex((await run('doctor', { ...store, MOORAGE_BERTHS_MAX: '500' })).text, /more than the harbour has/)
  t.regex((await run('config print')).text, /berths_max: 10 +# MOORAGE_BERTHS_MAX, default/)
  t.regex((await run('config print', { MOORAGE_BERTHS_MAX: 'x' })).text, /MOORAGE_BERTHS_MAX must be a whole number/)
  t.regex((await run('migrate status', store)).text, /berths\/0001-tables/)
  t.regex((await run('migrate status', { ...store, MOORAGE_PLUGINS: '' })).text, /absent +berths +berths\/0001-tables/)
})

test("moorage test-port runs a part's suite and ours on a replaced port", async (t) => {
  const suite = join(berths, 'store.suite.js')
  const bench = join(berths, 'fixtures.js')
  const own = await run(`test-port ${suite} ${bench}`, { MOORAGE_PLUGINS: '' })
  t.is(own.code, 0, own.text)
  t.regex(own.text, /keeps 4 of 4 cases of berth-store\.$/)
  const ours = await run(`test-port role-store ${bench}`, { MOORAGE_PLUGINS: '' })
  t.is(ours.code, 0, ours.text)

  const careless = join(folder, 'careless.mjs')
  writeFileSync(
    careless,
    `import { openBerthStore as open } from ${JSON.stringify(bench)}
    export const openBerthStore = async (context) => {
      const bench = await open(context)
      return { ...bench, store: { ...bench.store, list: (_account, page) => bench.store.list(bench.one, page) } }
    }`,
  )
  const kept = await run(`test-port ${suite} ${careless}`, { MOORAGE_PLUGINS: '' })
  t.is(kept.code, 1)
  t.regex(kept.text, /^not kept {2}a berth of another account is neither seen nor changed$/m)
  t.regex((await run(`test-port ${bench} ${bench}`)).text, /exports no suite that contractSuite has made/)
  t.regex((await run(`test-port ${suite}`)).text, /openBerthStore[\s\S]*Two accounts without berths/)
})

test('foreign tables, settings, pages and names are all refused at startup', async (t) => {
  const clash = join(folder, 'clash.mjs')
  writeFileSync(
    clash,
    `import { definePart } from 'moorage/composition/part'
    import { withDefault } from 'moorage/composition/config/setting'
    import { words } from 'moorage/composition/config/setting-type'
    import { definePlugin } from 'moorage/plugins/kit/plugin'
    const page = { title: 'X', template: new URL('./absent.html', import.meta.url), script: new URL(import.meta.url) }
    const up = async (knex) => {
      await knex.schema.createTable('berths_berths', (table) => { table.increments('id') })
      await knex.schema.alterTable('roles', (table) => { table.string('colour') })
    }
    export const part = definePart({
      plugin: definePlugin({ id: 'quay', summary: 'Quays', listener: 'api', gate: 'always', groups: [] }),
      settings: { berthsMax: withDefault('MOORAGE_BERTHS_MAX', words, 'x', 'A setting.') },
      pages: [{ ...page, name: 'berths' }, { ...page, name: 'sign-in' }],
      migrations: { part: 'quay', needs: ['identity'], migrations: [{ id: 'quay/0001-tables', summary: 'x', up }] },
    })`,
  )
  const environment = { MOORAGE_PLUGINS: `${place},${clash}`, MOORAGE_LISTEN: 'x' }
  const { problems } = await t.throwsAsync(loadConfig({ environment }), { instanceOf: StartRefused })
  const absent = `The page %s cannot be made: ENOENT: no such file or directory, open '${join(folder, 'absent.html')}' (plugin quay)`
  t.deepEqual(problems, [
    'The setting MOORAGE_BERTHS_MAX of the plugin quay must start with MOORAGE_QUAY_.',
    'The page berths of the plugin quay must be quay, or start with quay- and be lower case.',
    'The page sign-in of the plugin quay must be quay, or start with quay- and be lower case.',
    absent.replace('%s', 'berths'),
    absent.replace('%s', 'sign-in'),
    'The setting MOORAGE_BERTHS_MAX of the plugin quay is already in use by berths.',
    'The name of a setting berthsMax of the plugin quay is already in use by berths.',
    'The page berths of the plugin quay is already in use by berths.',
    'The page sign-in of the plugin quay is already in use by identity.',
    'MOORAGE_LISTEN must be host:port, as 127.0.0.1:3000 or [::1]:3000.',
    'The migration quay/0001-tables changes the table berths_berths, which belongs to the part berths.',
    'The migration quay/0001-tables changes the table roles, which belongs to the part authz.',
  ])
})

test('docs/plugins.md shows the files of the part, each as it is', (t) => {
  const page = readFileSync(new URL('../../docs/plugins.md', import.meta.url), 'utf8')
  const shown = new Map(
    [...page.matchAll(/^`([\w.]+)`[^\n]*\n\n```\w+\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  )
  t.deepEqual([...shown.keys()].toSorted(), readdirSync(berths).toSorted())
  for (const [name, text] of shown) t.is(text, readFileSync(join(berths, name), 'utf8'), name)
})
