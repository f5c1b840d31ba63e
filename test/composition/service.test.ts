// process: waiting - uses components
import test from 'ava'
import { needing } from '../support/components/needing.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'

test('the assembled service answers on its own ports, with a site admin and a token', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const version = await service.send('GET', '/api/v1/version')
  t.is(version.status, 200)
  const me = await service.send('GET', '/api/v1/user', { token: service.adminToken })
  t.is(me.status, 200, me.text)
  t.is(me.json.login, adminLogin)
  t.is((await service.send('GET', '/api/v1/user')).status, 401)
  t.is((await service.send('GET', '/api/v1/user', { basic: [adminLogin, adminPassword] })).status, 200)
})

test('readiness says yes while it runs and the metrics know the requests', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  t.is((await fetch(`${service.opsUrl}/readyz`)).status, 200)
  await service.send('GET', '/api/v1/version')
  t.regex(
    await (await fetch(`${service.opsUrl}/metrics`)).text(),
    /moorage_http_requests_total\{[^}]*route="\/version"/,
  )
})

test('error bodies and links name the port that was really bound', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const answer = await service.send('GET', '/api/v1/user')
  t.true(String(answer.json.url).startsWith(service.baseUrl), answer.text)
})

test('a bus without answers or keys affects messages only', async (t) => {
  const service = await startService({ settings: { MOORAGE_BUS_URL: 'nats://127.0.0.1:1' } })
  t.teardown(() => service.stop())
  const ready = await fetch(`${service.opsUrl}/readyz?verbose`)
  t.is(ready.status, 200)
  t.regex(await ready.text(), /\[-\] bus\n/)
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  const answer = await service.send('GET', '/api/v1/user/bus/credentials', { token: service.adminToken })
  t.is(answer.status, 404)
  t.like(answer.json, { code: 'BusHasNoCredentials' })
  t.regex(answer.json.message as string, /moorage bus init/)
})

const onMariaDb = needing('mariadb')
onMariaDb('the same assembly runs on a server database', async (t) => {
  const service = await startService({ database: 'mysql' })
  t.teardown(() => service.stop())
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).json.login, adminLogin)
})

test('no secret of the settings or of the start reaches the log', async (t) => {
  const service = await startService({ settings: { MOORAGE_LOG_LEVEL: 'debug' } })
  t.teardown(() => service.stop())
  await service.send('GET', '/api/v1/user?token=canary-query', { basic: [adminLogin, adminPassword] })
  await service.send('GET', '/api/v1/user', { token: service.adminToken })
  t.true(service.logLines().length > 0)
  for (const secret of [adminPassword, service.adminToken, 'canary-query']) t.false(service.logText().includes(secret))
})
