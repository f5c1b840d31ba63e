import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { startServiceProcess } from '../support/service-process.ts'

const plugin = fileURLToPath(new URL('fixtures/slow-plugin.ts', import.meta.url))
const withSlowRoute = { settings: { MOORAGE_PLUGINS: plugin } }

test('SIGTERM: readiness turns to 503, the request in flight is answered, nothing new is accepted, exit 0', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const inFlight = service.send('GET', '/api/v1/slow/1500')
  await delay(300)
  service.signal('SIGTERM')
  await delay(300)
  t.is((await fetch(`${service.opsUrl}/readyz`)).status, 503)
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  await t.throwsAsync(fetch(`${service.baseUrl}/api/v1/version`))
  const answer = await inFlight
  t.is(answer.status, 200)
  t.is(answer.json.text, 'done on SelfHosted')
  t.is(await service.exited, 0)
  t.regex(service.stderr(), /"msg":"stopping/)
})

test('a second signal ends it at once', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const inFlight = service.send('GET', '/api/v1/slow/15000').catch(() => 'cut')
  await delay(300)
  service.signal('SIGINT')
  await delay(200)
  service.signal('SIGTERM')
  t.is(await service.exited, 1)
  t.is(await inFlight, 'cut')
})

test('an idle service ends at once on SIGINT, its log flushed', async (t) => {
  const service = await startServiceProcess()
  t.teardown(() => service.stop())
  t.regex(service.stdout(), /Docs +http:\/\/127\.0\.0\.1:\d+\/api\/v1\/docs/)
  service.signal('SIGINT')
  t.is(await service.exited, 0)
  t.regex(service.stderr(), /"msg":"ready"/)
})
