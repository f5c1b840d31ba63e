import anyTest from 'ava'
import type { TestFn } from 'ava'
import type { StoredAnswer } from '../../core/kernel/idempotency.ts'
import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { password, startPopulatedService, type PopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'

interface World {
  readonly service: PopulatedService
  readonly alice: string
  /** Answers that were stored after the handler, by their status. */
  readonly storedAfter: number[]
}

const test = anyTest as TestFn<World>

test.before(async (t) => {
  const service = await startPopulatedService()
  const store = service.running.container.resolve(IdempotencyStoreToken)
  const storedAfter: number[] = []
  const { answer } = store
  Object.assign(store, {
    answer: (id: number, stored: StoredAnswer) => {
      storedAfter.push(stored.status)
      return answer(id, stored)
    },
  })
  t.context = { service, alice: await service.tokenFor('alice'), storedAfter }
})
test.after.always((t) => t.context.service.stop())

let keys = 0

/** Sends a change under a key of its own, then once more, and compares. Answers the first answer. */
const sendTwice = async (service: PopulatedService, method: string, path: string, options: SendOptions): Promise<{ readonly first: ServiceAnswer; readonly second: ServiceAnswer }> => {
  const keyed = { ...options, headers: { ...options.headers, 'Idempotency-Key': `kept-${(keys += 1)}` } }
  return { first: await service.send(method, path, keyed), second: await service.send(method, path, keyed) }
}

const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Changes that succeed in the populated world, by the id of their route; who asks, and with which body. */
const changes: readonly (readonly [id: string, who: 'alice' | 'admin' | 'password', body: unknown])[] = [
  ['identity.createToken', 'password', { name: 'kept', scopes: ['read:user'] }],
  ['identity.createSettingsToken', 'alice', { name: 'kept too' }],
  ['identity.addEmails', 'alice', { emails: ['alice.kept@example.com'] }],
  ['identity.editUserSettings', 'alice', { location: 'Pier 3' }],
  ['identity.editProfile', 'alice', { location: 'Pier 4' }],
  ['identity.changePageSizes', 'alice', { productUI: 20 }],
  ['identity.revokeOtherSessions', 'alice', undefined],
  ['identity.deleteSettingsTokens', 'alice', { tokenIDs: [999_999] }],
  ['identity.adminCreateUser', 'admin', { username: 'kim', email: 'kim@example.com', password, must_change_password: false }],
  ['identity.adminEditUser', 'admin', { location: 'Pier 5' }],
  ['identity.adminUpdateProfile', 'admin', { location: 'Pier 6' }],
  ['identity.consoleCreateUser', 'admin', { userName: 'kai', email: 'kai@example.com', password }],
  ['identity.consoleEditUser', 'admin', { location: 'Pier 7' }],
  ['organizations.createOrganization', 'alice', { username: 'quay' }],
  ['organizations.adminCreateOrganization', 'admin', { username: 'mole' }],
  ['organizations.editOrganization', 'alice', { location: 'Pier 8' }],
  ['organizations.createTeam', 'alice', { name: 'Kept', permission: 'read' }],
  ['organizations.editTeam', 'alice', { description: 'kept' }],
  ['organizations.setMembership', 'alice', { role: 'member' }],
  ['organizations.inviteMember', 'alice', { email: 'guest@example.com', role: 'member' }],
  ['organizations.createRobot', 'alice', { name: 'hoist' }],
  ['organizations.editRobot', 'alice', { description: 'kept' }],
  ['organizations.createRobotToken', 'alice', { name: 'kept' }],
  ['organizations.editPolicies', 'alice', { two_factor_grace_days: 5 }],
  ['organizations.setAvatar', 'alice', { image: picture }],
  ['authz.createRole', 'alice', { name: 'keeper', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] }],
  ['authz.updateRole', 'alice', { name: 'lookout', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] }],
  ['chart-repositories.createNamed', 'alice', { name: 'cellar', url: 'https://127.0.0.1:1/cellar' }],
  ['chart-repositories.editNamed', 'alice', { description: 'kept' }],
  ['clusters.updateCluster', 'alice', { displayName: 'Kept pier', provider: '', accessConfig: '' }],
  ['packages.setDriver', 'alice', { driver: { pkg3: { driverName: 'ConfigMap' } } }],
  ['identity.followUser', 'alice', undefined],
  ['organizations.addTeamMember', 'alice', undefined],
]

test.serial('changes of every kind store their answer with the change, and a retry gets it to the letter', async (t) => {
  const { service, alice, storedAfter } = t.context
  const credentials = { alice: { token: alice }, admin: { token: service.adminToken }, password: { basic: ['alice', password] as const } }
  const wrong: string[] = []
  for (const [id, who, body] of changes) {
    const route = service.running.assembly.routes.find(({ bound }) => bound.route.id === id)
    if (route === undefined) throw new Error(`There is no route ${id}`)
    const target = targetOf(route, service.world).replace('/users/vera/tokens', '/users/alice/tokens')
    storedAfter.length = 0
    const { first, second } = await sendTwice(service, route.methods[0] ?? '', target, { ...credentials[who], ...(body === undefined ? {} : { body }) })
    const told = `${id}: ${first.status} ${first.text}`
    if (first.status >= 300) wrong.push(told)
    if (storedAfter.length > 0) wrong.push(`${told} was stored after its change`)
    const isSame = second.status === first.status && second.text === first.text && second.headers['etag'] === first.headers['etag']
    if (!isSame || second.headers['idempotency-replayed'] !== 'true') wrong.push(`${told}, then ${second.status} ${second.text}`)
  }
  t.deepEqual(wrong, [])
})

test.serial('a retry of what removed or renamed its own object gets the first answer, and nothing else does', async (t) => {
  const { service, alice } = t.context
  const as = { token: alice }
  const made = await service.send('POST', '/api/v1/orgs', { ...as, body: { username: 'shoal' } })
  t.is(made.status, 201)
  const renamed = await sendTwice(service, 'POST', '/api/v1/orgs/shoal/rename', { ...as, body: { new_name: 'reef' } })
  t.deepEqual([renamed.first.status, renamed.second.status], [204, 204], renamed.second.text)
  const headers = { 'Idempotency-Key': 'end-of-the-reef' }
  const remove = (options: SendOptions, query = '') => service.send('DELETE', `/api/v1/orgs/reef${query}`, options)
  t.is((await remove({ ...as, headers })).status, 204)
  const again = await remove({ ...as, headers })
  t.deepEqual([again.status, again.headers['idempotency-replayed'], again.text], [204, 'true', ''])
  t.is((await remove(as)).status, 404)
  t.is((await remove({ ...as, headers: { 'Idempotency-Key': 'another' } })).status, 404)
  t.is((await remove({ ...as, headers }, '?another=request')).status, 404)
  t.is((await remove({ token: await service.tokenFor('olga'), headers })).status, 404)
  t.is((await service.send('GET', '/api/v1/orgs/reef', { ...as, headers })).status, 404)
})

test.serial('an answer with a body is replayed only to one who may still send the request', async (t) => {
  const { service, alice } = t.context
  const dora = await service.tokenFor('dora')
  t.is((await service.send('PUT', `/api/v1/teams/${service.world.teamIds.Owners}/members/dora`, { token: alice })).status, 204)
  const invite = { token: dora, body: { email: 'pilot@example.com', role: 'member' }, headers: { 'Idempotency-Key': 'pilot' } }
  t.is((await service.send('POST', '/api/v1/orgs/harbour/invitations', invite)).status, 201)
  t.is((await service.send('DELETE', '/api/v1/orgs/harbour/members/dora', { token: alice })).status, 204)
  const refused = await service.send('POST', '/api/v1/orgs/harbour/invitations', invite)
  t.true(refused.status === 403 || refused.status === 404, refused.text)
  t.false(refused.text.includes('pilot@example.com'))
})
