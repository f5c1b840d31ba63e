// process: own - breaks what a service needs
import { needing } from '../../support/components/needing.ts'
import { inTime } from '../../faults/linked-service.ts'
import { chartSource } from '../chart-source.ts'
import { hostileArchives, hostileChart } from './hostile-archives.ts'
import {
  closeSharedHostileFixture,
  offered,
  sharedHostileFixture,
  startHostileFixture,
  startTrap,
  type HostileFixture,
} from './hostile-fixture.ts'

const test = needing('helm')

test.after.always(() => closeSharedHostileFixture())

const query = (fixture: HostileFixture): string =>
  new URLSearchParams(chartSource(fixture.charts, 'hostile')).toString()

test('archives that are not charts are refused and change nothing', async (t) => {
  const fixture = await sharedHostileFixture(t)
  for (const [what, make] of Object.entries(hostileArchives)) {
    fixture.charts.add(offered(await make()))
    const view = await inTime(what, fixture.client.send('GET', `/packageview?${query(fixture)}`), 60)
    t.is(view.status, 422, `${what}: ${view.text.slice(0, 300)}`)
    t.is(typeof (view.json as { message: unknown }).message, 'string')
    const task = await inTime(what, fixture.install('hostile'), 60)
    t.is(task.state, 'failed', what)
    fixture.charts.remove('hostile')
  }
  t.deepEqual(fixture.changes(), [])
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: fixture.service.adminToken })).status, 200)
})

const object = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-hostile\ndata:\n'

test('endless or oversized templates are ended while others are served', async (t) => {
  // The limit ends them, whatever it is: each second of it is a second of a whole core.
  const fixture = await startHostileFixture(t, { renderSeconds: 1 })
  const templates = {
    'a loop': `${object}  value: {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}x\n`,
    'text that doubles': `${object}  value: {{ $text := "0123456789abcdef" }}{{ range until 40 }}{{ $text = cat $text $text }}{{ end }}{{ len $text }}\n`,
    'a template that calls itself': `{{ define "again" }}{{ include "again" . }}{{ end }}${object}  value: {{ include "again" . }}\n`,
  }
  for (const [what, template] of Object.entries(templates)) {
    fixture.charts.add(offered(await hostileChart({ 'templates/object.yaml': template })))
    const installing = inTime(what, fixture.install('hostile'), 120)
    for (let asked = 0; asked < 5; asked += 1) {
      t.is(
        (
          await inTime(
            'another request',
            fixture.service.send('GET', '/api/v1/user', { token: fixture.service.adminToken }),
            60,
          )
        ).status,
        200,
      )
    }
    const task = await installing
    t.is(task.state, 'failed', what)
    t.not(task.error ?? '', '', what)
    fixture.charts.remove('hostile')
  }
  t.deepEqual(fixture.changes(), [])
})

test('templates read nothing of this machine, and ask no name server', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const expressions = {
    file: '.Files.Get "/etc/passwd"',
    climbing: '.Files.Get "../../../../etc/passwd"',
    glob: '(.Files.Glob "/etc/**").AsConfig',
    name: 'getHostByName "localhost"',
  }
  const lines = Object.entries(expressions).map(([key, expression]) => `  ${key}: {{ ${expression} | quote }}`)
  fixture.charts.add(offered(await hostileChart({ 'templates/object.yaml': `${object}${lines.join('\n')}\n` })))
  const task = await fixture.install('hostile')
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  const made = fixture.api.find('v1', 'ConfigMap', 'default', 'web-hostile')
  t.deepEqual(made?.data, { file: '', climbing: '', glob: '{}', name: '' })
})

test('a schema with a remote reference is refused without a request', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const trap = await startTrap()
  t.teardown(() => trap.stop())
  for (const target of [`http://127.0.0.1:${trap.port}/latest/meta-data/`, 'file:///etc/passwd', '/etc/passwd']) {
    const schema = JSON.stringify({ type: 'object', properties: { value: { $ref: target } } })
    fixture.charts.add(offered(await hostileChart({ 'values.schema.json': schema, 'values.yaml': 'value: 1\n' })))
    const task = await fixture.install('hostile', { values: ['value=2'] })
    t.is(task.state, 'failed', target)
    t.false(JSON.stringify(task).includes('root:'))
    fixture.charts.remove('hostile')
  }
  t.is(trap.connections, 0)
  t.deepEqual(fixture.changes(), [])
})

test('a release whose record would not fit is refused before anything is changed', async (t) => {
  const fixture = await sharedHostileFixture(t)
  const noise = Buffer.from(
    Array.from({ length: 2_000_000 }, (_, index) => ((index * 2_654_435_761) ^ (index >> 3)) % 256),
  ).toString('base64')
  fixture.charts.add(offered(await hostileChart({ 'files/noise.txt': noise })))
  const task = await fixture.install('hostile')
  t.is(task.state, 'failed')
  t.regex(`${task.message} ${task.error}`, /files\/noise\.txt/)
  t.deepEqual(fixture.changes(), [])
})
