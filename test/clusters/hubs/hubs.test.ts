import test from 'ava'
import fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { hubPath, makeHubs, statusMessage } from '../../../core/clusters/hubs/hubs.ts'
import { clusterSetBindingKind, clusterSetKind, namespaceKind } from '../../../core/clusters/hubs/ports.ts'
import type { ClusterAnswer, ClusterRequest } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { DnsLabel } from '../../../plugins/kit/codecs.ts'
import { unwrap } from '../../support/outcome.ts'

/** A hub that gives these answers in turn, the last one forever, and what was sent to it. */
const hubThatAnswers = async (
  answers: ClusterAnswer | readonly [ClusterAnswer, ...ClusterAnswer[]],
  impersonatesUsers = false,
) => {
  const client = new AbortController()
  const inTurn = [answers].flat() as ClusterAnswer[]
  const sent: { readonly request: ClusterRequest; readonly signal: AbortSignal }[] = []
  const hubs = makeHubs({
    connections: {
      open: async (id) =>
        right({ link: { id, version: 1, ownerId: 2, ownerName: 'quay', impersonatesUsers } } as never),
    },
    pause: async () => {},
    entropy: { bytes: (length) => new Uint8Array(length), uuid: () => '' },
    api: {
      request: async (_connection, request, signal) => (
        sent.push({ request, signal }),
        right((inTurn.length > 1 ? inTurn.shift() : inTurn[0])!)
      ),
    },
  })
  const call = { principal: { userId: 7, login: 'ann' }, signal: client.signal } as unknown as SignedInCall
  return {
    client,
    sent,
    hub: unwrap(await hubs.open(call, { objectId: 4, objectName: 'wharf' } as unknown as AccessGrant)),
  }
}
const answerOf = (status: number, json: unknown = {}): ClusterAnswer => ({ status, json, text: JSON.stringify(json) })
const object = { name: 'global', namespace: 'shop', uid: 'uid-1', resourceVersion: '41', isDeleting: false, body: {} }

test('a hub that does not answer in time is named', async (t) => {
  const hubs = makeHubs({
    connections: { open: async (id) => right({ link: { id, version: 1, ownerId: 2, ownerName: 'quay' } } as never) },
    pause: async () => {},
    entropy: { bytes: (length) => new Uint8Array(length), uuid: () => '' },
    api: {
      request: async () =>
        left({ ...ClusterUnreachable('The cluster did not answer in time.'), kind: 'GatewayTimeout' as const }),
    },
  })
  const call = { principal: { userId: 7, login: 'ann' }, signal: new AbortController().signal }
  const grant = { objectId: 4, objectName: 'wharf' } as unknown as AccessGrant
  const listed = await unwrap(await hubs.open(call as unknown as SignedInCall, grant)).list(namespaceKind)
  t.is(isLeft(listed) ? listed.left.message : '', 'The hub wharf did not answer in time.')
})

test('a read ends when the client disconnects, and a change is completed', async (t) => {
  const { client, sent, hub } = await hubThatAnswers(answerOf(201))
  client.abort()
  await hub.get(namespaceKind, { name: 'shop' })
  await hub.list(namespaceKind)
  await hub.create(clusterSetBindingKind, object, {})
  await hub.remove(clusterSetBindingKind, object)
  t.deepEqual(
    sent.map(({ request, signal }) => [request.method, signal.aborted]),
    [
      ['GET', true],
      ['GET', true],
      ['POST', false],
      ['DELETE', false],
    ],
  )
})

test('a list whose next page has expired starts again, and has each object once', async (t) => {
  const pageOf = (name: string, next?: string): ClusterAnswer =>
    answerOf(200, { metadata: { continue: next }, items: [{ metadata: { name } }, { metadata: {} }, 7] })
  const { sent, hub } = await hubThatAnswers([pageOf('a', 'b&c'), answerOf(410), pageOf('a', 'next'), pageOf('b')])
  t.deepEqual(
    unwrap(await hub.list(namespaceKind)).map(({ name }) => name),
    ['a', 'b'],
  )
  t.deepEqual(
    sent.map(({ request }) => request.target.split('limit=500')[1]),
    ['', '&continue=b%26c', '', '&continue=next'],
  )
})

test('lists of metadata take pages twice as large and have no items when empty', async (t) => {
  const { sent, hub } = await hubThatAnswers([
    answerOf(200, { metadata: { continue: 'more' }, items: [{ metadata: { name: 'a' } }] }),
    answerOf(200, { metadata: {}, items: null }),
  ])
  t.deepEqual(
    unwrap(await hub.list(namespaceKind, { isMetadataOnly: true })).map(({ name }) => name),
    ['a'],
  )
  const accepted = sent.map(({ request }) => request.headers?.find(([name]) => name === 'accept')?.[1])
  t.deepEqual(
    accepted,
    Array(2).fill('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json'),
  )
  t.deepEqual(
    sent.map(({ request }) => new URL(request.target, 'https://hub').searchParams.get('limit')),
    ['1000', '1000'],
  )
  await hub.list(namespaceKind)
  t.is(sent.at(-1)?.request.headers?.length, 0)
})

test('a known object is read again only after a change', async (t) => {
  const conflict = answerOf(409, { kind: 'Status', reason: 'Conflict' })
  const fresh = answerOf(200, { metadata: { name: 'global', resourceVersion: '42' } })
  const { sent, hub } = await hubThatAnswers([conflict, fresh, fresh])
  t.is(unwrap(await hub.edit(clusterSetKind, object, () => right({ merge: { spec: {} } }), object)), 'changed')
  t.deepEqual(
    sent.map(({ request }) => request.method),
    ['PATCH', 'GET', 'PATCH'],
  )
  const versions = sent
    .filter(({ request }) => request.method === 'PATCH')
    .map(
      ({ request }) =>
        (JSON.parse(new TextDecoder().decode(request.body)) as { metadata: { resourceVersion: string } }).metadata
          .resourceVersion,
    )
  t.deepEqual(versions, ['41', '42'])
})

test('an integer of 64 bits is sent exactly', async (t) => {
  const { sent, hub } = await hubThatAnswers(answerOf(201))
  await hub.create(clusterSetBindingKind, object, { spec: { big: 9007199254740993n } })
  t.true(new TextDecoder().decode(sent[0]?.request.body).includes('{"big":9007199254740993}'))
})

test('a list of large objects is read in smaller pages to the same limit', async (t) => {
  const { sent, hub } = await hubThatAnswers(answerOf(200, { metadata: { continue: 'more' }, items: [] }))
  t.like(await hub.list(namespaceKind, { pageSize: 1000 }), { left: { tag: 'ClusterUnreachable' } })
  t.deepEqual([...new Set(sent.map(({ request }) => request.target.split('?')[1]?.split('&')[0]))], ['limit=1000'])
  t.is(sent.length, 20)
})

test('an object is deleted by its UID, and a namesake stays', async (t) => {
  const { sent, hub } = await hubThatAnswers(answerOf(409, { kind: 'Status', reason: 'Conflict' }))
  t.false(unwrap(await hub.remove(clusterSetBindingKind, object)))
  t.like(JSON.parse(new TextDecoder().decode(sent[0]?.request.body)), {
    kind: 'DeleteOptions',
    preconditions: { uid: 'uid-1' },
  })
})

test('a 403 is that of the caller only if the hub saw the identity of the caller', async (t) => {
  for (const [impersonates, tag] of [
    [true, 'HubDenied'],
    [false, 'CredentialRefused'],
  ] as const) {
    const { sent, hub } = await hubThatAnswers(answerOf(403), impersonates)
    t.like(await hub.list(namespaceKind), { left: { tag } })
    t.like(await hub.remove(clusterSetBindingKind, object), { left: { tag } })
    t.is(
      sent[0]?.request.headers?.some(([name]) => name.toLowerCase() === 'impersonate-user'),
      impersonates,
    )
  }
})

const denial = (code: number, message: string, details: object = {}): ClusterAnswer =>
  answerOf(code, { kind: 'Status', status: 'Failure', code, message, details })
const webhook =
  'admission webhook "managedclustervalidators.admission.cluster.open-cluster-management.io" denied the request:'

test('a denial by a policy of the hub is passed on with its reason', async (t) => {
  const reasons = [
    denial(400, `${webhook} url "http://x" is invalid in client configs`),
    denial(403, 'admission webhook "validation.gatekeeper.sh" denied the request: [berths] label berth is required'),
    denial(
      403,
      `managedclustersets "a" is forbidden: ValidatingAdmissionPolicy 'berths' with binding 'all' denied request: label berth is required`,
    ),
    denial(422, 'spec.clusterSet: Required value'),
  ]
  for (const answer of reasons) {
    const { hub } = await hubThatAnswers(answer)
    t.like(await hub.create(clusterSetBindingKind, object, {}), {
      left: { tag: 'HubRefused', message: (answer.json as { message: string }).message },
    })
  }
})

test("a right that OCM's webhooks miss is attributed to credential or caller", async (t) => {
  const details = { name: 'edge', group: 'cluster.open-cluster-management.io', kind: 'managedclustersets/join' }
  const answer = denial(
    403,
    `${webhook} managedclustersets/join.cluster.open-cluster-management.io "edge" is forbidden: user "alice" cannot add/remove a ManagedCluster to/from ManagedClusterSet "edge"`,
    details,
  )
  for (const [impersonates, tag, who] of [
    [true, 'HubDenied', 'you'],
    [false, 'CredentialRefused', 'the stored credential'],
  ] as const) {
    const { hub } = await hubThatAnswers(answer, impersonates)
    const message = `The hub does not let ${who} create managedclustersetbindings. It needs the right on managedclustersets/join edge.`
    t.like(await hub.create(clusterSetBindingKind, object, {}), { left: { tag, message } })
  }
})

test('a list never reports a policy', async (t) => {
  const { hub } = await hubThatAnswers(
    denial(403, 'nodes is forbidden: User "system:serviceaccount:vault:secret" cannot list resource "nodes"'),
  )
  t.like(await hub.list(namespaceKind), {
    left: { tag: 'CredentialRefused', message: 'The hub does not let the stored credential list namespaces.' },
  })
})

test('paths of kinds and objects', (t) => {
  t.is(hubPath(namespaceKind), '/api/v1/namespaces')
  t.is(hubPath(namespaceKind, { name: 'shop' }), '/api/v1/namespaces/shop')
  t.is(
    hubPath(clusterSetKind, { name: 'global' }),
    '/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global',
  )
  t.is(
    hubPath(clusterSetBindingKind, { namespace: 'shop' }),
    '/apis/cluster.open-cluster-management.io/v1beta2/namespaces/shop/managedclustersetbindings',
  )
})

test('no name leaves its segment of the path', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ minLength: 1 }), (namespace, name) => {
      const path = hubPath(clusterSetBindingKind, { namespace, name })
      const [, , , , , first = '', , last = '', ...rest] = path.split('/')
      return (
        rest.length === 0 &&
        decodeURIComponent(first) === namespace &&
        decodeURIComponent(last) === name &&
        !/[?#]/.test(path)
      )
    }),
  )
  t.pass()
})

test('the message of a Status never contains a token or a certificate', (t) => {
  const text = fc.string({ maxLength: 40 })
  const base64Url = fc.stringMatching(/^[A-Za-z0-9_-]{20,40}$/)
  const secret = fc.oneof(
    fc.tuple(base64Url, base64Url, base64Url).map(([a, b, c]) => `eyJ${a}.${b}.${c}`),
    fc.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/),
    base64Url.map((token) => `Bearer ${token}`),
    base64Url.map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----`),
  )
  fc.assert(
    fc.property(text, secret, text, (before, hidden, after) => {
      const said = statusMessage({ kind: 'Status', message: `${before} ${hidden} ${after}` })
      return !said.includes(hidden) && said.length <= 500
    }),
  )
  t.is(
    statusMessage({ kind: 'Status', message: 'spec.clusterSet in body should be at least 1 chars long' }),
    'spec.clusterSet in body should be at least 1 chars long',
  )
  t.is(statusMessage({ kind: 'Secret', message: 'text' }), '')
  t.is(statusMessage('404 page not found'), '')
})

test('a DNS label is a text that Kubernetes accepts as a namespace', (t) => {
  const sign = fc.constantFrom(...'abz019-._A/%é ')
  fc.assert(
    fc.property(fc.string({ unit: sign, maxLength: 70 }), (name) => {
      const parts = [...name]
      const isLabel =
        parts.length >= 1 &&
        parts.length <= 63 &&
        parts.every((each) => /[a-z0-9-]/.test(each)) &&
        parts[0] !== '-' &&
        parts.at(-1) !== '-'
      return DnsLabel.is(name) === isLabel
    }),
  )
  for (const name of ['a', '0', 'a-b', 'x'.repeat(63)]) t.true(DnsLabel.is(name))
  t.false(DnsLabel.is('a\n'))
})
