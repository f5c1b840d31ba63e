// process: own - waits at its top level
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import { runtimeCommands } from '../../composition/runtime/cli/commands.ts'
import { commandNames } from '../../composition/part/describe.ts'
import { loadConfig } from '../../composition/moorage.ts'
import { withDefault } from '../../composition/part/setting.ts'
import { words } from '../../composition/part/setting-type.ts'
import { defineGauges } from '../../composition/part/gauges.ts'
import { runtimeMetricNames, makeMetrics } from '../../composition/runtime/http/metrics.ts'
import { runtimeCommandNames, nameProblems } from '../../composition/runtime/part-names.ts'
import { definePart } from '../../composition/part/part.ts'
import { loadParts } from '../../composition/parts.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import { definePlugin } from '../../plugins/kit/plugin.ts'
import { startService } from '../support/service.ts'

const notes = fileURLToPath(new URL('./fixtures/notes-part.ts', import.meta.url))
const own = await loadParts()

test('a part of a deployer brings a setting, a port, a metric and a command', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-outside-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const keyring = { MOORAGE_KEYRING: join(folder, 'keyring.json') }
  const service = await startService({ settings: { MOORAGE_PLUGINS: notes, MOORAGE_NOTES_MAX: '7', ...keyring } })
  t.teardown(() => service.stop())
  t.regex(await (await fetch(`${service.opsUrl}/metrics`)).text(), /\nmoorage_notes_count 3\n/)
  const run = async (line: string, more: Readonly<Record<string, string>> = {}) => {
    const output: string[] = []
    const code = await runCommandLine(line.split(' '), {
      environment: { MOORAGE_PLUGINS: notes, ...more },
      print: (text) => void output.push(text),
      say: (text) => void output.push(text),
    })
    return { code, text: output.join('\n') }
  }
  const store = { MOORAGE_DATABASE_URL: service.databaseUrl, MOORAGE_DATA_DIR: folder, ...keyring }
  const ran = await run('notes max', { ...store, MOORAGE_NOTES_MAX: '8' })
  t.deepEqual(ran, { code: 0, text: '8' })
  t.regex((await run('--help')).text, /\n {2}notes +Notes of accounts\./)
  t.regex((await run('config print')).text, /notes_max: 10 +# MOORAGE_NOTES_MAX, default/)
  t.regex((await run('config print', { MOORAGE_NOTES_MAX: '0' })).text, /MOORAGE_NOTES_MAX must be a whole number/)
  t.regex(
    (await run('config print', { MOORAGE_NOTES_MIN: '1' })).text,
    /MOORAGE_NOTES_MIN: did you mean MOORAGE_NOTES_MAX/,
  )
  t.regex((await run('notes max', { MOORAGE_PLUGINS: '' })).text, /unknown command 'notes'/)
})

const partOf = (id: string, more: Omit<Parameters<typeof definePart>[0], 'plugin'> = {}) =>
  definePart({ plugin: definePlugin({ id, summary: id, listener: 'api', gate: 'always', groups: [] }), ...more })

const gaugesOf = (...names: readonly string[]) =>
  defineGauges(Object.fromEntries(names.map((name) => [name, { help: name }])), {}, () => () => ({}))

test('names that are not those of the part, and names in use, are refused, all at once', (t) => {
  const rowOf = (env: `MOORAGE_${string}`) => withDefault(env, words, 'x', 'A setting.')
  const problems = nameProblems(own, [
    partOf('tide', {
      settings: { listen: rowOf('MOORAGE_TIDE_LISTEN'), tideMail: rowOf('MOORAGE_MAIL') },
      metrics: [gaugesOf('moorage_tide_height', 'moorage_tasks')],
      commands: (program) => void program.command('admin'),
      tags: [{ name: 'Helm', description: 'Steering.' }],
      objectRows: [{ type: 'role', table: 'roles', owner: 'org_id' }],
      sealedColumns: [{ table: 'mail_outbox', column: 'sealed', key: 'id' }],
      subjects: [
        { purpose: 'usage', subject: 'usage.events' },
        { purpose: 'tide-gauge', subject: 'tide.*' },
      ],
    }),
    partOf('serve', { commands: (program) => void program.command('serve') }),
    partOf('Tide!'),
    partOf('clouds'),
  ])
  t.deepEqual(problems, [
    'The setting MOORAGE_MAIL of the plugin tide must start with MOORAGE_TIDE_.',
    'The metric moorage_tasks of the plugin tide must start with moorage_tide_.',
    'The command admin of the plugin tide must be a subcommand of tide.',
    'The table roles of the plugin tide must start with tide_.',
    'The table mail_outbox of the plugin tide must start with tide_.',
    'The subject usage.events of the plugin tide must be tide, or start with tide. and have no wildcard.',
    'The subject tide.* of the plugin tide must be tide, or start with tide. and have no wildcard.',
    'The purpose usage of credentials of the plugin tide must be tide, or start with tide-.',
    'The id of the plugin Tide! must be lower case letters, digits and -.',
    'The id clouds of the plugin clouds is already in use by clouds.',
    'The setting MOORAGE_MAIL of the plugin tide is already in use by mail.',
    'The name of a setting listen of the plugin tide is already in use by the service itself.',
    'The metric moorage_tasks of the plugin tide is already in use by tasks.',
    'The command admin of the plugin tide is already in use by identity.',
    'The command serve of the plugin serve is already in use by the service itself.',
    'The tag Helm of the plugin tide is already in use by packages.',
    'The subject usage.events of the plugin tide is already in use by usage.',
    'The purpose of credentials usage of the plugin tide is already in use by usage.',
    'The object type role of the plugin tide is already in use by authz.',
    'The prefix of tables clouds_ of the plugin clouds is already in use by clouds.',
  ])
  t.deepEqual(nameProblems(own, []), [])
})

test('every fault of the parts and of the settings is in one message', async (t) => {
  const environment = { MOORAGE_PLUGINS: `${notes},${join('/nowhere', 'absent.mjs')}`, MOORAGE_LISTEN: 'x' }
  const error = await t.throwsAsync(loadConfig({ environment }), { instanceOf: StartRefused })
  t.is(error.problems.length, 2)
  t.regex(error.message, /absent\.mjs cannot be loaded/)
  t.regex(error.message, /MOORAGE_LISTEN must be host:port/)
})

test("reserved names of parts are the runtime's names", async (t) => {
  t.deepEqual([...runtimeCommandNames].sort(), [...commandNames(runtimeCommands), 'help'].sort())
  const metrics = makeMetrics('1')
  metrics.read({ certificateUntil: () => new Date(0) })
  const { text } = await metrics.expose()
  const exposed = [...text.matchAll(/^# TYPE (moorage_\w+)/gm)].map(([, name]) => name)
  t.deepEqual(exposed.sort(), [...runtimeMetricNames].sort())
})
