import test from 'ava'
import { adminLogin, startService, type TestService } from '../support/service.ts'

/** What a credential that is less than its user's whole self must not come to. */
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service.stop())

test('a token is not answered what another credential of its user was answered under the same Idempotency-Key', async (t) => {
  const weak = await service.tokenFor(adminLogin, ['write:user'])
  const request = { body: { name: 'deploy', expTime: 0, scopes: ['write:user'] }, headers: { 'Idempotency-Key': '1' } }
  const first = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', { token: service.adminToken, ...request })
  t.is(first.status, 201)
  const same = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', { token: service.adminToken, ...request })
  t.is(same.json.token, first.json.token)
  const other = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', { token: weak, ...request })
  t.is(other.headers['idempotency-replayed'], undefined)
  t.not(other.json.token, first.json.token)
})

test('a site admin who acts as a user is not answered from the user’s own keys, nor the user from the admin’s', async (t) => {
  const body = { username: 'acted', email: 'acted@example.com', password: 'quiet-harbour-lantern-7', must_change_password: false }
  t.is((await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })).status, 201)
  const request = { body: { username: 'acted-org' }, headers: { 'Idempotency-Key': '1' } }
  t.is((await service.send('POST', '/api/v1/orgs', { token: service.adminToken, ...request, headers: { ...request.headers, Sudo: 'acted' } })).status, 201)
  const own = await service.send('POST', '/api/v1/orgs', { basic: ['acted', 'quiet-harbour-lantern-7'], ...request })
  t.is(own.headers['idempotency-replayed'], undefined)
})

test('a site admin’s token for public objects administers nothing', async (t) => {
  const token = await service.tokenFor(adminLogin, ['all', 'public-only'])
  t.is((await service.send('GET', '/api/v1/admin/users', { token })).status, 403)
  const body = { username: 'made', email: 'made@example.com', password: 'quiet-harbour-lantern-7' }
  t.is((await service.send('POST', '/api/v1/admin/users', { token, body })).status, 403)
})

for (const [what, credential] of [['tokens', { token: 'a'.repeat(40) }], ['passwords', { basic: [adminLogin, 'wrong'] as const }]] as const) {
  test(`guessing ${what} meets the rate limit of the address`, async (t) => {
    const limited = await startService({ settings: { MOORAGE_RATE_LIMIT_PER_MINUTE: '5' } })
    t.teardown(() => limited.stop())
    const statuses: number[] = []
    for (let i = 0; i < 7; i += 1) statuses.push((await limited.send('GET', '/api/v1/user', credential)).status)
    t.deepEqual(statuses.slice(0, 5), [401, 401, 401, 401, 401])
    t.is(statuses[6], 429)
    t.is((await limited.send('GET', '/api/v1/user', { token: limited.adminToken })).status, 200, 'who is known is not held up')
  })
}
