import { randomUUID } from 'node:crypto'
import test from 'ava'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

/** The contracts of accounts, as their owners and the vendor use them, over HTTP. */

const base = '/api/v1/user/contracts'
const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400

let service: TestService
let people: ReturnType<typeof makePeople>
let owner: Person
let stranger: Person
let org: string
let otherOrg: string

test.before(async () => {
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' } })
  people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  org = await people.organization(owner)
  otherOrg = await people.organization(stranger)
})
test.after.always(() => service?.stop())

interface ContractWire {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly autoAssignCluster: boolean
  readonly emails: { readonly usageAlertClient: readonly string[] }
}
const as = (person: Person, method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: person.token, ...(body === undefined ? {} : { body }) })
const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })

const contract = async (changes: Readonly<Record<string, unknown>> = {}, account = org): Promise<ContractWire> => {
  const terms = {
    orgOrUser: account,
    name: `Contract ${randomUUID()}`,
    products: ['database'],
    features: ['db-basic', 'db-backup'],
    start: nowSeconds - day,
    end: nowSeconds + 30 * day,
    allowOffline: true,
  }
  const created = await expectStatus(admin('POST', '/api/v1/contracts', { ...terms, ...changes }), 201)
  return (created.json as ContractWire[])[0]!
}
const events = async (id: number): Promise<readonly string[]> =>
  (
    (await expectStatus(as(owner, 'GET', `${base}/${id}/audit?org=${org}&limit=50`), 200)).json as { event: string }[]
  ).map(({ event }) => event)
const idsOf = ({ json }: ServiceAnswer): readonly number[] => (json as { id: number }[]).map(({ id }) => id)

test('a contract is listed to its owner with its state, and to no other account', async (t) => {
  const made = [
    await contract(),
    await contract({ start: nowSeconds + day }),
    await contract({ start: nowSeconds - 9 * day, end: nowSeconds - day }),
  ]
  const listed = (await expectStatus(as(owner, 'GET', `${base}?org=${org}&limit=50`), 200)).json as ContractWire[]
  t.deepEqual(
    made.map(({ id }) => listed.find((each) => each.id === id)?.state),
    ['active', 'scheduled', 'expired'],
  )
  const offline = idsOf(
    await expectStatus(as(owner, 'GET', `${base}/active-offline-contracts?org=${org}&limit=50`), 200),
  )
  t.deepEqual(
    made.map(({ id }) => offline.includes(id)),
    [true, false, false],
  )
  // Another test of this file makes a contract of that account.
  const foreign = idsOf(await expectStatus(as(stranger, 'GET', `${base}?org=${otherOrg}&limit=50`), 200))
  t.deepEqual(
    made.filter(({ id }) => foreign.includes(id)),
    [],
  )
  t.deepEqual(
    (await expectStatus(as(owner, 'GET', base), 200)).json,
    [],
    'without org, the contracts of the own account',
  )
  await expectStatus(as(stranger, 'GET', `${base}?org=${org}`), 403)
})

test('a contract of another account is 404, and its history 403', async (t) => {
  const { id } = await contract()
  for (const account of [org, otherOrg]) {
    await expectStatus(as(stranger, 'GET', `${base}/${id}?org=${account}`), 404)
    await expectStatus(as(stranger, 'GET', `${base}/${id}/audit?org=${account}`), 403)
    await expectStatus(
      as(stranger, 'PUT', `${base}/${id}/preferences?org=${account}`, { autoAssignCluster: true }),
      403,
    )
  }
  const seen = (await expectStatus(as(owner, 'GET', `${base}/${id}?org=${org}`), 200)).json as ContractWire &
    Record<string, unknown>
  t.false('usageAlertAdmin' in seen.emails)
})

test('preferences keep absent fields, clear empty lists and refuse invalid ones', async (t) => {
  const { id } = await contract()
  const put = (body: unknown) => as(owner, 'PUT', `${base}/${id}/preferences?org=${org}`, body)
  t.deepEqual(
    (await expectStatus(put({ usageAlertClient: 'Ops@EXAMPLE.com', autoAssignCluster: true }), 200)).json.emails
      .usageAlertClient,
    ['Ops@example.com'],
  )
  const kept = (await expectStatus(put({ usageAlertClient: null }), 200)).json as ContractWire
  t.true(kept.autoAssignCluster)
  t.deepEqual(kept.emails.usageAlertClient, ['Ops@example.com'])
  const refused = await expectStatus(
    put({ usageAlertClient: ['a@example.com', 'no address'], autoAssignCluster: false }),
    400,
  )
  t.true(refused.text.includes('no address'))
  t.true(((await expectStatus(put({}), 200)).json as ContractWire).autoAssignCluster)
  t.deepEqual((await expectStatus(put({ usageAlertClient: [] }), 200)).json.emails.usageAlertClient, [])
  t.deepEqual(await events(id), ['contract.created', 'preferences.updated', 'preferences.updated'])
})

test('clusters are bound all or none, renamed, retagged and removed', async (t) => {
  const [first, second] = [await contract(), await contract()]
  const [a, b] = [randomUUID(), randomUUID()]
  const bind = (id: number, body: unknown) => as(owner, 'POST', `${base}/${id}/clusters?org=${org}`, body)
  const bound = (
    await expectStatus(
      bind(first.id, [{ cluster: a.toUpperCase(), displayName: ' Alpha ', tags: ['eu', 'eu', 'prod'] }]),
      201,
    )
  ).json
  t.like(bound[0], {
    cluster: a,
    displayName: 'Alpha',
    contractId: first.id,
    clusterStatus: { isImported: false, tags: ['eu', 'prod'], associatedContractId: first.id },
  })
  for (const [body, hint] of [
    [[], 'at least one'],
    [[{ cluster: 'not-a-uuid' }], 'UUID'],
    [[{ cluster: b }, { cluster: a }], 'already'],
    [[{ cluster: b }, { cluster: b.toUpperCase() }], 'twice'],
    [[{ cluster: b, tags: ['x'.repeat(65)] }], 'tag'],
  ] as const)
    t.true((await expectStatus(bind(first.id, body), 400)).text.includes(hint), hint)
  await expectStatus(bind(first.id, [{ displayName: 'no cluster' }]), 422)
  t.is((await expectStatus(as(owner, 'GET', `${base}/${first.id}/clusters?org=${org}`), 200)).json.length, 1)
  await expectStatus(bind(second.id, [{ cluster: a }]), 201)
  const ccId = bound[0].id as number
  const at = `${base}/${first.id}/clusters/${ccId}`
  await expectStatus(as(owner, 'PATCH', `${at}/tags?org=${org}`, { tags: ['us'] }), 200)
  await expectStatus(as(owner, 'PATCH', `${at}/name?org=${org}`, { clusterName: 'Beta' }), 200)
  await expectStatus(as(owner, 'PATCH', `${at}/name?org=${org}`, { clusterName: ' ' }), 422)
  const ofSecond = (await expectStatus(as(owner, 'GET', `${base}/${second.id}/clusters?org=${org}`), 200)).json
  t.deepEqual([ofSecond[0].clusterStatus.tags, ofSecond[0].displayName], [['us'], a])
  t.deepEqual(ofSecond[0].duplicateContractFeatures, [
    { contractId: first.id, product: 'database', features: ['db-backup', 'db-basic'] },
  ])
  await expectStatus(as(owner, 'DELETE', `${at}?org=${org}`), 200)
  await expectStatus(as(owner, 'DELETE', `${at}?org=${org}`), 403)
  await expectStatus(as(stranger, 'DELETE', `${base}/${second.id}/clusters/${ofSecond[0].id}?org=${otherOrg}`), 403)
  t.deepEqual(await events(first.id), [
    'contract.created',
    'cluster.added',
    'cluster.retagged',
    'cluster.renamed',
    'cluster.removed',
  ])
})

test('one cluster is assigned to several contracts or to none of them', async (t) => {
  const [first, second, expired, foreign] = [
    await contract(),
    await contract(),
    await contract({ start: nowSeconds - 9 * day, end: nowSeconds - day }),
    await contract({}, otherOrg),
  ]
  const uid = randomUUID()
  const assign = (contractIds: readonly number[], clusterId: string = uid) =>
    as(owner, 'POST', `${base}/assign-cluster?org=${org}`, { clusterId, contractIds })
  await expectStatus(assign([]), 400)
  await expectStatus(assign([first.id], 'x'), 400)
  for (const bad of [expired.id, foreign.id, 999_999]) await expectStatus(assign([first.id, bad]), 403)
  const associated = async (): Promise<readonly number[]> =>
    idsOf(await expectStatus(as(owner, 'GET', `${base}/active/associated-with/clusters/${uid}?org=${org}`), 200))
  t.deepEqual(await associated(), [])
  for (const _ of [1, 2]) await expectStatus(assign([first.id, second.id, first.id]), 200)
  t.deepEqual(
    [...(await associated())].sort((x, y) => x - y),
    [first.id, second.id],
  )
  const others = idsOf(
    await expectStatus(as(owner, 'GET', `${base}/active/not-associated-with/clusters/${uid}?org=${org}&limit=50`), 200),
  )
  t.false(others.includes(first.id))
  await expectStatus(as(owner, 'GET', `${base}/active/associated-with/clusters/nope?org=${org}`), 400)
  const licensed = (await expectStatus(as(owner, 'GET', `${base}/active/associated-clusters?org=${org}&limit=50`), 200))
    .json as { cluster: string; associatedContractIDs: number[] }[]
  t.deepEqual(licensed.find(({ cluster }) => cluster === uid)?.associatedContractIDs, [first.id, second.id])
})

test('the status of many clusters keeps their order, with errors in place', async (t) => {
  const { id } = await contract()
  const uid = randomUUID()
  await expectStatus(
    as(owner, 'POST', `${base}/${id}/clusters?org=${org}`, [{ cluster: uid, displayName: 'Gamma' }]),
    201,
  )
  const batch = async (clusters: readonly string[], query = '') =>
    (
      await expectStatus(
        as(owner, 'POST', `${base}/active/associated-clusters/batch-status?org=${org}${query}`, { clusters }),
        200,
      )
    ).json as { cluster: string; displayName: string; error: string; contractId: number }[]
  const [unknown, malformed, known] = await batch([randomUUID(), 'x', uid])
  t.like(unknown, { displayName: '', error: '' })
  t.regex(malformed!.error, /UUID/)
  t.like(known, { displayName: 'Gamma', error: '', contractId: id })
  const foreign = await contract({}, otherOrg)
  t.regex((await batch([uid], `&contract=${foreign.id}`))[0]!.error, /does not exist/)
  t.is(
    (
      await expectStatus(
        as(owner, 'GET', `${base}/active/associated-clusters/${uid}/status?org=${org}&contract=${id}`),
        200,
      )
    ).json.contractId,
    id,
  )
  await expectStatus(
    as(owner, 'POST', `${base}/active/associated-clusters/batch-status?org=${org}`, {
      clusters: Array.from({ length: 1001 }, () => uid),
    }),
    422,
  )
})

test('a member without rights on contracts reads nothing and changes nothing', async (t) => {
  const viewer = await people.person('viewer')
  await people.teamWithRole(owner, org, [viewer], [{ namespace: 'contract_mgmt', action: 'view contracts' }])
  const outsider = await people.person('clusters-only')
  await people.teamWithRole(owner, org, [outsider], [{ namespace: 'cluster_mgmt', action: 'view clusters' }])
  const { id } = await contract()
  const statuses = async (person: Person): Promise<readonly number[]> =>
    (
      await Promise.all([
        as(person, 'GET', `${base}?org=${org}`),
        as(person, 'GET', `${base}/${id}?org=${org}`),
        as(person, 'PUT', `${base}/${id}/preferences?org=${org}`, { autoAssignCluster: true }),
        as(person, 'POST', `${base}/${id}/clusters?org=${org}`, [{ cluster: randomUUID() }]),
        as(person, 'POST', `${base}/${id}/clusters/1/issue-license?org=${org}`),
        admin('GET', '/api/v1/contracts'),
        as(person, 'GET', '/api/v1/contracts'),
      ])
    ).map(({ status }) => status)
  t.deepEqual(await statuses(viewer), [200, 200, 403, 403, 403, 200, 403])
  t.deepEqual(await statuses(outsider), [403, 403, 403, 403, 403, 200, 403])
})

test('the vendor extends, revokes and deletes a contract, with valid terms only', async (t) => {
  const { id } = await contract({ products: ['database', 'vault'] })
  const at = `/api/v1/contracts/${id}`
  for (const body of [
    { end: nowSeconds - 40 * day },
    { features: [] },
    { features: ['Upper'] },
    { restrictions: '[1]' },
    { quota: { enabled: true } },
    { name: ' ' },
  ])
    await expectStatus(admin('PUT', at, body), 422)
  await expectStatus(admin('POST', `${at}/extend`, { end: nowSeconds + day }), 422)
  t.is(
    (await expectStatus(admin('POST', `${at}/extend`, { end: nowSeconds + 60 * day }), 200)).json.end,
    nowSeconds + 60 * day,
  )
  for (const _ of [1, 2]) await expectStatus(admin('POST', `${at}/revoke`), 200)
  t.is((await expectStatus(as(owner, 'GET', `${base}/${id}?org=${org}`), 200)).json.state, 'revoked')
  await expectStatus(admin('POST', `${at}/extend`, { end: nowSeconds + 90 * day }), 422)
  t.deepEqual(await events(id), ['contract.created', 'contract.extended', 'contract.revoked'])
  // It was in force: a deletion ends it, and it stays.
  for (const _ of [1, 2]) await expectStatus(admin('DELETE', at), 200)
  t.is((await expectStatus(as(owner, 'GET', `${base}/${id}?org=${org}`), 200)).json.state, 'revoked')
  const later = await contract({ start: nowSeconds + day, end: nowSeconds + 2 * day })
  await expectStatus(admin('DELETE', `/api/v1/contracts/${later.id}`), 200)
  await expectStatus(admin('DELETE', `/api/v1/contracts/${later.id}`), 404)
  await expectStatus(as(owner, 'GET', `${base}/${later.id}?org=${org}`), 404)
  const ended = await contract({})
  await expectStatus(admin('DELETE', `/api/v1/contracts/${ended.id}`), 200)
  t.deepEqual(await events(ended.id), ['contract.created', 'contract.deleted'])
  const log = (await expectStatus(as(owner, 'GET', `/api/v1/orgs/${org}/audit?limit=100`), 200)).json as {
    action: string
    object_id?: number
  }[]
  t.true(log.some(({ action, object_id: objectId }) => action === 'contract.deleted' && objectId === later.id))
})

test('two requests that bind the same cluster at once: one is 201, the other 400', async (t) => {
  const { id } = await contract()
  const body = [{ cluster: randomUUID() }]
  const statuses = (
    await Promise.all([1, 2, 3, 4].map(() => as(owner, 'POST', `${base}/${id}/clusters?org=${org}`, body)))
  ).map(({ status }) => status)
  t.deepEqual(statuses.sort(), [201, 400, 400, 400])
})

test('only site admins read the status of clusters of any account', async (t) => {
  const { id } = await contract()
  const uid = randomUUID()
  await expectStatus(admin('POST', `/api/v1/contracts/${id}/clusters`, [{ cluster: uid, displayName: 'Delta' }]), 201)
  const at = '/api/v1/contracts/active/associated-clusters'
  t.like((await expectStatus(admin('GET', `${at}/${uid}/status?org=${org}`), 200)).json, {
    contractId: id,
    displayName: 'Delta',
  })
  t.like(
    (await expectStatus(admin('GET', `${at}/${uid}/status`), 200)).json,
    { id: 0, displayName: '' },
    'the account of the site admin has no such contract',
  )
  t.like((await expectStatus(admin('POST', `${at}/batch-status?org=${org}`, { clusters: [uid] }), 200)).json[0], {
    contractId: id,
  })
  await expectStatus(admin('GET', `${at}/${uid}/status?org=no-such-account`), 422)
  await expectStatus(as(owner, 'GET', `${at}/${uid}/status?org=${org}`), 403)
  await expectStatus(as(owner, 'POST', `${at}/batch-status?org=${org}`, { clusters: [uid] }), 403)
})

test('a contract that the vendor reads can be sent back, and then nothing changes', async (t) => {
  const { id } = await contract({
    emails: { contactPerson: ['ann@example.com'] },
    quota: { enabled: true, limit: 5 },
    restrictions: '{"a":1}',
  })
  const read = await expectStatus(admin('GET', `/api/v1/contracts/${id}`), 200)
  const sent = await expectStatus(admin('PUT', `/api/v1/contracts/${id}`, read.json), 200)
  t.deepEqual(sent.json, read.json)
  t.deepEqual(await events(id), ['contract.created'])
})
