import test from 'ava'
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
  t.regex(await (await fetch(`${service.opsUrl}/metrics`)).text(), /moorage_http_requests_total\{[^}]*route="\/version"/)
})

test('error bodies and links name the port that was really bound', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const answer = await service.send('GET', '/api/v1/user')
  t.true(String(answer.json.url).startsWith(service.baseUrl), answer.text)
})
