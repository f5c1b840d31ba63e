import test from 'ava'
import { startService, type TestService } from '../support/service.ts'
import { plantBusToken } from '../support/plant-bus-token.ts'
import { newPerson, runJob } from './bus-world.ts'

/** Lists and endings work without a bus, on what was issued while there was one. */
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service.stop())

test('where messages stay inside the process every credential route says so, naming the setting', async (t) => {
  for (const path of ['credentials', 'admin_credentials', 'user_credentials', 'cluster-resource-history']) {
    const answer = await service.send('GET', `/api/v1/user/bus/${path}`, { token: service.adminToken })
    t.is(answer.status, 404, path)
    t.like(answer.json, { code: 'BusHasNoCredentials' })
    t.regex((answer.json as { message: string }).message, /MOORAGE_BUS_URL/)
  }
  t.deepEqual((await service.send('GET', '/api/v1/user/settings/tokens/bus-tokens', { token: service.adminToken })).json, [])
  await runJob(service, 'bus.retireCredentials')
  await runJob(service, 'bus.reconcileClaims')
})

test("an organization's bus tokens are its owners' to list and end; another organization's are not there", async (t) => {
  const [owner, stranger] = [await newPerson(service), await newPerson(service)]
  const organization = async (person: typeof owner, username: string) =>
    ((await service.send('POST', '/api/v1/orgs', { token: person.token, body: { username } })).json as { id: number }).id
  const [id, otherId] = [await organization(owner, 'harbour'), await organization(stranger, 'lagoon')]
  const [token, otherToken] = [await plantBusToken(service, id), await plantBusToken(service, otherId)]
  const listed = await service.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens/', { token: owner.token })
  t.deepEqual(listed.json, [{ id: token, uid: id, accountType: 'organization', busPubKey: `U-${id}`, clusterID: '', productName: 'own', revoked: false }] as never)
  const revoke = (person: typeof owner, org: string, tokenId: number) =>
    service.send('POST', `/api/v1/orgs/${org}/tokens/bus-tokens/${tokenId}/revoke`, { token: person.token })
  t.is((await revoke(owner, 'harbour', otherToken)).status, 404)
  t.is((await revoke(stranger, 'harbour', token)).status, 403)
  t.is((await service.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens', { token: stranger.token })).status, 403)
  t.is((await revoke(owner, 'harbour', token)).status, 200)
  const [after] = (await service.send('GET', '/api/v1/orgs/harbour/tokens/bus-tokens', { token: owner.token })).json as { revoked: boolean }[]
  t.true(after?.revoked)
})
