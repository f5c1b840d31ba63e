import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'

const plugin = fileURLToPath(new URL('fixtures/slow-plugin.ts', import.meta.url))
const withSlowRoute = { settings: { MOORAGE_PLUGINS: plugin } }

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  for (let turn = 0; turn < 1000 && !(await isSo()); turn += 1) await delay(20)
}

/** Starts a request and waits until the service has it. */
const inFlight = async (service: ServiceProcess, ms: number): Promise<{ readonly answer: Promise<ServiceAnswer | 'cut'> }> => {
  const answer = service.send('GET', `/api/v1/slow/${ms}`).catch((): 'cut' => 'cut')
  await until(async () => (await (await fetch(`${service.opsUrl}/metrics`)).text()).includes('requests_in_flight 1\n'))
  return { answer }
}

test('SIGTERM: readiness turns to 503, the request in flight is answered, nothing new is accepted, exit 0', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const { answer } = await inFlight(service, 3000)
  service.signal('SIGTERM')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  t.is((await fetch(`${service.opsUrl}/readyz`)).status, 503)
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  await t.throwsAsync(fetch(`${service.baseUrl}/api/v1/version`))
  const answered = await answer
  t.not(answered, 'cut')
  if (answered !== 'cut') t.deepEqual([answered.status, answered.json], [200, { text: 'done on SelfHosted' }])
  t.is(await service.exited, 0)
  t.regex(service.stderr(), /"msg":"stopping/)
})

test('a second signal ends it at once', async (t) => {
  const service = await startServiceProcess(withSlowRoute)
  t.teardown(() => service.stop())
  const { answer } = await inFlight(service, 60_000)
  service.signal('SIGINT')
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503)
  service.signal('SIGTERM')
  t.is(await service.exited, 1)
  t.is(await answer, 'cut')
})

test('an idle service ends at once on SIGINT, its log flushed', async (t) => {
  const service = await startServiceProcess()
  t.teardown(() => service.stop())
  t.regex(service.stdout(), /Docs +http:\/\/127\.0\.0\.1:\d+\/api\/v1\/docs/)
  service.signal('SIGINT')
  t.is(await service.exited, 0)
  t.regex(service.stderr(), /"msg":"ready"/)
})
