// process: waiting - uses components
import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { credentialTypes } from '../../core/clouds/credential-form.ts'
import { listOwnAudit } from '../../plugins/audit/audit.routes.ts'
import {
  createCredential,
  deleteCredential,
  getCredential,
  listBuckets,
  listCredentials,
  replaceCredential,
} from '../../plugins/clouds/clouds.routes.ts'
import { getCaller } from '../../plugins/identity/accounts/users.routes.ts'
import type { Client } from '../../plugins/kit/client.ts'
import type { Person } from '../clusters/cluster-fixture.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import { kubernetes } from '../support/components/available.ts'
import { untilAllowed } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { MemberCluster } from './buckets-from-secret-cases.ts'
import { bucketsFromSecretCases } from './buckets-from-secret-cases.ts'
import type { Emulator } from './emulator.ts'
import { makeServiceAccount } from './google-emulator.ts'
import { startS3Emulator } from './s3-emulator.ts'

let service: TestService
let database: SqlDatabase
let s3: Emulator
let ann: Person
let bob: Person
/** The typed clients of both. */
let annCalls: Client
let bobCalls: Client
const path = '/api/v1/user/credentials'
const awsSecret = 'canary-aws-secret-1'

test.before(async () => {
  s3 = await startS3Emulator(
    [{ accessKeyId: 'AKIAHARBOUR', secretAccessKey: awsSecret, buckets: ['alpha', 'beta', 'gamma'] }],
    2,
  )
  const url = `sqlite:${await migratedSqlitePath()}`
  service = await startService({
    settings: { MOORAGE_DATABASE_URL: url, MOORAGE_CLOUD_A_STORAGE_ENDPOINT: s3.origin, MOORAGE_LOG_LEVEL: 'trace' },
  })
  database = await openPatiently(url)
  const people = makePeople(service)
  ann = await people.person('ann')
  bob = await people.person('bob')
  ;[annCalls, bobCalls] = [clientAs(service, ann), clientAs(service, bob)]
})
test.after.always(async () => {
  await Promise.all([service.stop(), s3.stop()])
  await database.close()
})

const as = (person: Person, method: string, at: string, body?: unknown) =>
  service.send(method, at, { token: person.token, ...(body === undefined ? {} : { body }) })
/** Every row of a table as text, bytes as Latin-1. */
const rowsOf = async (table: string): Promise<string> =>
  JSON.stringify(await database.query((k) => k(table).select('*')), (_, value: unknown) =>
    typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
      ? Buffer.from(value.data as number[]).toString('latin1')
      : value,
  )
const aws = (name: string, fields: object = {}) => ({
  name,
  type: 'Aws',
  aws: { accessKeyID: 'AKIAHARBOUR', secretAccessKey: awsSecret, ...fields },
})

test('a credential is stored, shown without its secret, replaced and deleted', async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('life') })).status, 201)
  const params = { credName: 'life' }
  // Raw, since it matters which keys are absent.
  const shown = await as(ann, 'GET', `${path}/life`)
  t.is(shown.status, 200)
  t.deepEqual(Object.keys(shown.json).sort(), ['aws', 'creationTimestamp', 'name', 'ownerID', 'type'])
  t.deepEqual(shown.json.aws, { accessKeyID: 'AKIAHARBOUR', secretAccessKey: '' })
  t.true(Math.abs(Date.parse(shown.json.creationTimestamp) - Date.now()) < 600_000)
  for (const at of [`${path}/`, path]) {
    const replaced = await as(ann, 'PUT', at, {
      ...(shown.json as object),
      aws: { ...shown.json.aws, accessKeyID: 'AKIAOTHER' },
    })
    t.deepEqual([replaced.status, replaced.text], [204, ''])
  }
  const after = await as(ann, 'GET', `${path}/life`)
  t.deepEqual(after.json, { ...shown.json, aws: { accessKeyID: 'AKIAOTHER', secretAccessKey: '' } })
  const remove = async () => (await annCalls.call(deleteCredential, { params })).status
  t.deepEqual([await remove(), await remove()], [204, 404])
  t.is((await as(ann, 'GET', `${path}/life`)).status, 404)
})

test('every credential type is stored, and answers, logs and columns hold no secret', async (t) => {
  const people = makePeople(service)
  const holder = await people.person('holder')
  const account = makeServiceAccount('harbour-1')
  const kubeConfig = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://kubevirt.example:6443' } }],
    users: [{ name: 'a', user: { token: 'canary-kubevirt-token' } }],
  })
  const special: Readonly<Record<string, unknown>> = {
    'service-account': account.text,
    kubeconfig: kubeConfig,
    list: ['read'],
    instant: '2027-01-01T00:00:00Z',
    'https-url': 'https://fleet.example',
  }
  const said: string[] = []
  for (const [type, { block, fields }] of Object.entries(credentialTypes)) {
    const values = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        special[field.kind] ?? (field.isSecret ? `canary-${type}-${name}` : `shown-${name}`),
      ]),
    )
    const name = type.toLowerCase()
    const made = await as(holder, 'POST', path, { name, type, [block]: values })
    t.is(made.status, 201, `${type}: ${made.text}`)
    const shown = await as(holder, 'GET', `${path}/${name}`)
    const expected = Object.fromEntries(
      Object.entries(fields).map(([field, { isSecret }]) => [field, isSecret ? '' : values[field]]),
    )
    t.deepEqual(shown.json[block], expected, type)
    const wrong = await as(holder, 'PUT', `${path}/`, { name, type, [block]: { ...values, extra: 'canary-extra' } })
    t.is(wrong.status, 422)
    said.push(shown.text, wrong.text, (await as(holder, 'PUT', `${path}/`, { name, type, [block]: values })).text)
  }
  said.push(
    (await as(holder, 'GET', `${path}?limit=50`)).text,
    (await service.send('GET', `/api/v1/user/clouds/azure/buckets?credential=aws`, { token: holder.token })).text,
  )
  const kept = await Promise.all(
    ['audit_events', 'cloud_credentials', 'idempotency_records'].map((table) => rowsOf(table)),
  )
  t.true(kept[1]?.includes('https://fleet.example'))
  const found = [...said, service.logText(), ...kept].filter(
    (text) => /canary-|PRIVATE KEY/.test(text) || text.includes(account.file.private_key.split('\n')[2] ?? 'never'),
  )
  t.deepEqual(found, [])
})

test('lists are sorted by name, paged and filtered by type and endpoint', async (t) => {
  const client = clientAs(service, await makePeople(service).person('lister'))
  const fleet = (name: string, endpoint: string) => ({
    name,
    type: 'Rancher',
    rancher: { accessKeyID: 'token-x', secretAccessKey: 's', endpoint },
  })
  for (const body of [
    aws('z'),
    fleet('b', 'https://fleet.example/'),
    fleet('c', 'https://other.example'),
    { name: 'a', type: 'DigitalOcean', digitalocean: { token: 's' } },
  ])
    t.is((await client.call(createCredential, { body })).status, 201)
  const names = async (credential_type: readonly string[], fleet_endpoint?: string) => {
    const query = { credential_type, ...(fleet_endpoint === undefined ? {} : { fleet_endpoint }) }
    return (await valueOf(client.call(listCredentials, { query }))).items.map(({ name }) => name)
  }
  t.deepEqual(await names([]), ['a', 'b', 'c', 'z'])
  t.deepEqual(await names(['Rancher']), ['b', 'c'])
  t.deepEqual(await names(['Rancher', 'Aws']), ['b', 'c', 'z'])
  t.deepEqual(await names(['none']), [])
  t.deepEqual(await names([], 'https://FLEET.example'), ['b'])
  t.deepEqual(await names(['Aws'], 'https://fleet.example'), [])
  const page = await valueOf(
    client.call(listCredentials, { query: { credential_type: [] }, page: { page: 2, limit: 3 } }),
  )
  t.deepEqual([page.items.length, page.total], [1, 4])
})

test("another person's credential does not exist for any operation", async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('private') })).status, 201)
  const answers = [
    await as(bob, 'GET', `${path}/private`),
    await as(bob, 'DELETE', `${path}/private`),
    await as(bob, 'GET', '/api/v1/user/clouds/aws/buckets?credential=private'),
    await as(bob, 'PUT', `${path}/`, aws('private')),
  ]
  t.deepEqual(
    answers.map(({ status }) => status),
    [404, 404, 404, 422],
  )
  t.deepEqual((await valueOf(bobCalls.call(listCredentials, { query: { credential_type: [] } }))).items, [])
  const admin = await service.send('GET', `${path}/private`, { token: service.adminToken })
  t.is(admin.status, 404)
  t.is((await as(ann, 'GET', `${path}/private`)).status, 200)
})

test('another owner is refused with one answer, whatever the owner is', async (t) => {
  const org = await makePeople(service).organization(ann)
  const ids = [
    (await valueOf(bobCalls.call(getCaller))).id,
    (await as(ann, 'GET', `/api/v1/orgs/${org}`)).json.id as number,
    999_999,
  ]
  const refusals = await Promise.all(ids.map((ownerID) => as(ann, 'POST', path, { ...aws('owned'), ownerID })))
  t.deepEqual(
    [...new Set(refusals.map(({ status, json }) => `${status} ${json.message}`))],
    ['422 ownerID must be your own id, or absent.'],
  )
  const own = (await valueOf(annCalls.call(getCaller))).id
  t.is((await annCalls.call(createCredential, { body: { ...aws('owned'), ownerID: own } })).status, 201)
})

test('bodies that are no credential are 422, and too large ones are refused', async (t) => {
  t.is((await as(ann, 'POST', path, '{"name":')).status, 422)
  t.is((await as(ann, 'POST', path, [])).status, 422)
  t.is(
    (
      await as(
        ann,
        'POST',
        path,
        '{"name":"twice","type":"Aws","aws":{"accessKeyID":"a","secretAccessKey":"s","secretAccessKey":"t"}}',
      )
    ).status,
    422,
  )
  const large = await as(ann, 'POST', path, aws('large', { secretAccessKey: 'x'.repeat(256 * 1024) }))
  t.is(large.status, 413)
  t.is((await as(ann, 'GET', `${path}/large`)).status, 404)
})

test('a name is taken once, also by two requests at the same moment', async (t) => {
  const made = await Promise.all(Array.from({ length: 6 }, () => as(ann, 'POST', path, aws('once'))))
  t.deepEqual(made.map(({ status }) => status).sort(), [201, 422, 422, 422, 422, 422])
  t.true(made.filter(({ status }) => status === 422).every(({ json }) => json.code === 'CredentialNameTaken'))
})

test('changes at the same moment never mix: each is made whole or refused', async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('raced') })).status, 201)
  const changed = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      as(ann, 'PUT', `${path}/`, {
        name: 'raced',
        type: 'HetznerStorage',
        hetznerStorage: { accessKeyID: `id-${index}`, secretAccessKey: `s-${index}` },
      }),
    ),
  )
  t.true(changed.some(({ status }) => status === 204))
  t.true(changed.every(({ status }) => status === 204 || status === 409))
  const last = (await valueOf(annCalls.call(getCredential, { params: { credName: 'raced' } })))['hetznerStorage']?.[
    'accessKeyID'
  ]
  t.is(changed[Number(String(last).slice(3))]?.status, 204)
})

test('changes are in the own audit log, with names of fields and no values', async (t) => {
  const client = clientAs(service, await makePeople(service).person('audited'))
  await valueOf(client.call(createCredential, { body: aws('logged') }))
  await valueOf(client.call(replaceCredential, { body: aws('logged', { secretAccessKey: 'canary-next' }) }))
  await valueOf(client.call(deleteCredential, { params: { credName: 'logged' } }))
  const log = await client.call(listOwnAudit)
  const actions = log.ok ? log.value.items.map(({ action }) => action) : []
  t.deepEqual(actions.filter((action) => action.startsWith('cloud_credential')).sort(), [
    'cloud_credential.changed',
    'cloud_credential.created',
    'cloud_credential.deleted',
  ])
  t.true(log.text.includes('secretAccessKey'))
  t.false(log.text.includes('canary-'))
})

test('a site admin who acts as a user cannot create a credential', async (t) => {
  for (const [method, at] of [
    ['POST', path],
    ['PUT', `${path}/`],
  ] as const) {
    const answer = await service.send(method, at, {
      token: service.adminToken,
      headers: { sudo: ann.login },
      body: aws('planted'),
    })
    t.is(answer.status, 403)
  }
  t.is((await as(ann, 'GET', `${path}/planted`)).status, 404)
})

test('buckets are listed with a stored credential over every page', async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('lists') })).status, 201)
  // The typed client sends the fields in the query; clients of the specification send them in a body too.
  t.deepEqual(await valueOf(annCalls.call(listBuckets, { params: { cloud: 'aws' }, body: { credential: 'lists' } })), {
    names: ['alpha', 'beta', 'gamma'],
  })
  for (const cloud of ['aws', 's3', 'cloudA']) {
    t.deepEqual(
      (await as(ann, 'GET', `/api/v1/user/clouds/${cloud}/buckets`, { credential: 'lists', provider: 'aws' })).json,
      { names: ['alpha', 'beta', 'gamma'] },
    )
  }
  t.is(
    (await annCalls.call(replaceCredential, { body: aws('lists', { secretAccessKey: 'canary-wrong' }) })).status,
    204,
  )
  const refused = await as(ann, 'GET', '/api/v1/user/clouds/aws/buckets?credential=lists')
  t.deepEqual([refused.status, refused.json.code], [422, 'CloudKeyRefused'])
  t.regex(refused.json.message, /\(SignatureDoesNotMatch\)/)
  t.notRegex(refused.text, /canary|AKIA|vendor text/)
})

test('exactly one source that fits the cloud, or 422', async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('source') })).status, 201)
  const secretOf = { cluster_uid: 'u', secret_namespace: 'n', secret_name: 's' }
  const wrong: readonly (readonly [string, object])[] = [
    ['aws', {}],
    ['aws', { credential: '' }],
    ['aws', { ...secretOf, credential: 'source' }],
    ['aws', { cluster_uid: 'u' }],
    ['aws', { cluster_uid: 'u', secret_namespace: 'n' }],
    ['aws', { credential: 'source', secret_name: 's' }],
    ['azure', { credential: 'source' }],
    ['digitalocean', { credential: 'source' }],
    ['aws', { credential: 'source', gce_project: 'p' }],
    ['aws', { credential: 'source', provider: 'azure' }],
    ['aws', { credential: 'source', provider: 'nowhere' }],
  ]
  for (const [cloud, body] of wrong) {
    const answer = await as(ann, 'GET', `/api/v1/user/clouds/${cloud}/buckets`, body)
    t.deepEqual([answer.status, answer.json.code], [422, 'BucketSourceRefused'], `${cloud} ${JSON.stringify(body)}`)
  }
  for (const cloud of ['nowhere', 'AWS', 'constructor'])
    t.is((await as(ann, 'GET', `/api/v1/user/clouds/${cloud}/buckets?credential=source`)).status, 404)
})

test('a cloud in trouble is 500 in plain words', async (t) => {
  const broken = await startS3Emulator([], 2)
  const other = await startService({ settings: { MOORAGE_CLOUD_A_STORAGE_ENDPOINT: broken.origin } })
  t.teardown(async () => void (await Promise.all([other.stop(), broken.stop()])))
  await other.send('POST', path, { token: other.adminToken, body: aws('one') })
  broken.instead = { status: 500, body: '<Error><Code>InternalError</Code><Message>vendor text</Message></Error>' }
  const answer = await other.send('GET', '/api/v1/user/clouds/aws/buckets?credential=one', { token: other.adminToken })
  t.deepEqual(
    [answer.status, answer.json.code, answer.json.message],
    [500, 'CloudUnreachable', 'The cloud did not answer as it should (InternalError).'],
  )
})

test('a sealed value that was moved or restored cannot be opened', async (t) => {
  const people = makePeople(service)
  const [holder, thief] = [await people.person('holder'), await people.person('thief')]
  const rowOf = async (person: Person) => {
    const { id } = await valueOf(clientAs(service, person).call(getCaller))
    const [row] = await database.query<{ id: number; ref: string; sealed_spec: Uint8Array }>((k) =>
      k('cloud_credentials').where('user_id', id).select('id', 'ref', 'sealed_spec'),
    )
    return row!
  }
  t.is((await as(holder, 'POST', path, aws('boxed'))).status, 201)
  t.is((await as(thief, 'POST', path, aws('boxed'))).status, 201)
  const [theirs, own] = [await rowOf(holder), await rowOf(thief)]
  await database.query((k) =>
    k('cloud_credentials').where('id', own.id).update({ ref: theirs.ref, sealed_spec: theirs.sealed_spec }),
  )
  const moved = await as(thief, 'GET', `${path}/boxed`)
  t.is(moved.status, 500)
  t.notRegex(moved.text, /canary|AKIA/)
  t.is((await as(holder, 'PUT', `${path}/`, aws('boxed', { accessKeyID: 'AKIANEXT' }))).status, 204)
  await database.query((k) => k('cloud_credentials').where('id', theirs.id).update({ sealed_spec: theirs.sealed_spec }))
  t.is((await as(holder, 'GET', `${path}/boxed`)).status, 500)
})

test('tokens reach credentials only within their scopes', async (t) => {
  t.is((await annCalls.call(createCredential, { body: aws('reach') })).status, 201)
  const narrow = { ...ann, token: await service.tokenFor(ann.login, ['all', 'public-only']) }
  for (const at of [path, `${path}/reach`, '/api/v1/user/clouds/aws/buckets?credential=reach'])
    t.is((await as(narrow, 'GET', at)).status, 403)
  const reader = { ...ann, token: await service.tokenFor(ann.login, ['read:user']) }
  t.is((await as(reader, 'GET', `${path}/reach`)).status, 200)
  for (const [method, at, body] of [
    ['POST', path, aws('more')],
    ['PUT', `${path}/`, aws('reach')],
    ['DELETE', `${path}/reach`, undefined],
  ] as const)
    t.is((await as(reader, method, at, body)).status, 403)
})

const status = (code: number, reason: string): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code })

/** The fake API server with secrets, which it shows to whom they are opened to, by the name that is impersonated. */
const fakeMember = async (): Promise<MemberCluster> => {
  const fake = await startFakeKubernetes()
  const secrets = new Map<string, Readonly<Record<string, string>>>()
  const readers = new Set<string>()
  let namespaces = 0
  fake.on('/api/v1/namespaces/', (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    const [, namespace = '', name = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/.exec(path) ?? []
    const user = String(req.headers['impersonate-user'] ?? 'nobody')
    const data = secrets.get(`${namespace}/${name}`)
    const answer = (code: number, body: string): void => {
      res.writeHead(code, { 'content-type': 'application/json' })
      res.end(body)
    }
    if (path === '/api/v1/namespaces/kube-system')
      return answer(200, JSON.stringify({ kind: 'Namespace', metadata: { name: 'kube-system', uid: fake.uid } }))
    if (!readers.has(`${namespace} ${user}`)) return answer(403, status(403, 'Forbidden'))
    if (data === undefined) return answer(404, status(404, 'NotFound'))
    answer(
      200,
      JSON.stringify({
        kind: 'Secret',
        apiVersion: 'v1',
        metadata: { name, namespace },
        data: Object.fromEntries(
          Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
        ),
      }),
    )
  })
  return {
    kubeconfig: () => fake.kubeconfig(),
    createNamespace: async () => `vault-${(namespaces += 1)}`,
    putSecret: async (namespace, name, data) => void secrets.set(`${namespace}/${name}`, data),
    letRead: async (namespace, user) => void readers.add(`${namespace} ${user}`),
    stop: () => fake.stop(),
  }
}

bucketsFromSecretCases(test, 'fake', fakeMember)

/** A real kube-apiserver, with its own authorization of the impersonated caller. */
const realMember = async (): Promise<MemberCluster> => {
  const cluster = (await kubernetes())!
  const made = async (path: string, body: object): Promise<void> => {
    const answer = await cluster.request('POST', path, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  return {
    kubeconfig: () => cluster.kubeconfig(),
    createNamespace: () => cluster.createNamespace('vault'),
    putSecret: (namespace, name, data) =>
      made(`/api/v1/namespaces/${namespace}/secrets`, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
        stringData: data,
      }),
    letRead: async (namespace, user) => {
      const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
      const name = `read-${user.replaceAll(':', '-')}`
      await made(`${rbac}/roles`, {
        metadata: { name },
        rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
      })
      await made(`${rbac}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      })
      await untilAllowed(cluster, user, { namespace, verb: 'get', resource: 'secrets' })
    },
    stop: async () => undefined,
  }
}

bucketsFromSecretCases(needing('kubernetes'), 'kubernetes', realMember)
