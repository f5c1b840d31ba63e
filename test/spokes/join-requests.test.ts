import 'reflect-metadata'
import test from 'ava'
import fc from 'fast-check'
import { webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequestGenerator, type JsonName } from '@peculiar/x509'
import { certificateRequestReader } from '../../adapters/kubernetes/certificate-requests.ts'
import type { HubObject } from '../../core/clusters/hubs/ports.ts'
import { isAgentOf, judgeJoinRequests, type JoinRules, type ReadRequest } from '../../core/hubs/spokes/acceptance.ts'

const group = 'system:open-cluster-management:shop'
const shared = 'system:open-cluster-management:managed-clusters'
const bootstrap = {
  username: 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap',
  groups: ['system:authenticated', 'system:serviceaccounts:open-cluster-management'],
}
interface Made {
  readonly agent?: string
  readonly organizations?: readonly string[]
  readonly conditions?: readonly string[]
  readonly certificate?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: object
  readonly createdAt?: string
}
const registeredAt = '2026-11-22T16:47:57Z'
const requestOf = (
  {
    agent = 'a',
    organizations = [group, shared],
    conditions = [],
    certificate,
    labels = {},
    spec = {},
    createdAt = registeredAt,
  }: Made = {},
  name = 'r1',
): ReadRequest => {
  const body = {
    metadata: { name, labels, creationTimestamp: createdAt },
    spec: { signerName: 'kubernetes.io/kube-apiserver-client', ...bootstrap, ...spec },
    status: { certificate, conditions: conditions.map((type) => ({ type, status: 'True' })) },
  }
  return {
    object: {
      name,
      namespace: '',
      uid: name,
      resourceVersion: '1',
      isDeleting: false,
      body: body as unknown as HubObject['body'],
    },
    subject: { commonName: `${group}:${agent}`, organizations },
  }
}
const judge = (requests: readonly ReadRequest[], rules: Partial<JoinRules> = {}): readonly string[] | string => {
  const judged = judgeJoinRequests({ name: 'shop', registeredAt }, requests, {
    skipsApproveCheck: false,
    requesters: [],
    ...rules,
  })
  return judged._tag === 'Right' ? judged.right.map(({ name }) => name) : judged.left.reason
}

test('the subject must be an agent of the cluster, whatever else it contains', (t) => {
  const part = fc.stringMatching(/^[a-z0-9-]{1,10}$/)
  fc.assert(
    fc.property(part, part, (cluster, agent) =>
      isAgentOf(cluster, {
        commonName: `system:open-cluster-management:${cluster}:${agent}`,
        organizations: [shared, `system:open-cluster-management:${cluster}`],
      }),
    ),
  )
  const names = fc.oneof(
    fc.constantFrom(group, shared, 'system:masters', `${group}x`, 'system:open-cluster-management:other', `${group}:a`),
    part,
  )
  const subjects = fc.record({
    commonName: fc.oneof(
      names,
      names.map((name) => `${name}:a`),
    ),
    organizations: fc.array(names, { maxLength: 3 }),
  })
  fc.assert(
    fc.property(subjects, (subject) => {
      const own = subject.organizations.filter((name) => name !== shared)
      return !isAgentOf('shop', subject) || (own.join() === group && subject.commonName === `${group}:a`)
    }),
  )
  for (const commonName of [`${group}:`, group, `${group}:a:b`, 'system:admin', `${group}x:a`])
    t.false(isAgentOf('shop', { commonName, organizations: [group] }), commonName)
})

const forgeries: Readonly<Record<string, Made>> = {
  'the group of another cluster': { organizations: ['system:open-cluster-management:other'] },
  'a group more': { organizations: [group, 'system:masters'] },
  'no group': { organizations: [shared] },
  'the group twice': { organizations: [group, group] },
  'a name of another cluster': { agent: 'a:b' },
}
for (const [what, made] of Object.entries(forgeries)) {
  test(`a request is not approved, also without the approve check: ${what}`, (t) => {
    t.regex(judge([requestOf(made)]) as string, /None of its join requests/)
    t.regex(judge([requestOf(made)], { skipsApproveCheck: true }) as string, /None of its join requests/)
    t.deepEqual(judge([requestOf(made), requestOf({}, 'good')]), ['good'])
  })
}

const strangers: Readonly<Record<string, object>> = {
  'another user': { username: 'system:serviceaccount:default:agent-registration-bootstrap' },
  'a user whose name begins like it': { username: `${bootstrap.username}-2` },
  'another group': { groups: ['system:serviceaccounts:default'] },
  'no group': { groups: undefined },
}
for (const [what, spec] of Object.entries(strangers)) {
  test(`a request without a bootstrap identity needs the check off: ${what}`, (t) => {
    t.regex(judge([requestOf({ spec })]) as string, /bootstrap identity/)
    t.deepEqual(judge([requestOf({ spec })], { skipsApproveCheck: true }), ['r1'])
  })
}

test('bootstrap identities of all versions of a hub', (t) => {
  const identities = [
    { username: 'system:bootstrap:abcdef', groups: ['system:bootstrappers:managedcluster'] },
    {
      username: 'system:serviceaccount:open-cluster-management:cluster-bootstrap',
      groups: ['system:serviceaccounts:open-cluster-management'],
    },
    {
      username: 'system:serviceaccount:open-cluster-management-hub:grpc-server-sa',
      groups: ['system:serviceaccounts:open-cluster-management-hub'],
    },
  ]
  for (const spec of identities) t.deepEqual(judge([requestOf({ spec })]), ['r1'])
})

test('requests of add-ons and for other signers do not count', (t) => {
  const others = [
    requestOf({ labels: { 'open-cluster-management.io/addon-name': 'work' } }),
    requestOf({ spec: { signerName: 'kubernetes.io/kubelet-serving' } }),
  ]
  t.is(judge(others), 'It has no join request.')
  t.deepEqual(judge(others, { skipsApproveCheck: true }), [])
})

test('only named agents are approved', (t) => {
  const [first, second] = [requestOf({ agent: 'a' }, 'r1'), requestOf({ agent: 'b' }, 'r2')]
  t.regex(judge([first, second]) as string, /Several agents .*shop:a, .*shop:b\. Name those/)
  t.deepEqual(judge([first, second], { requesters: [`${group}:b`, 'system:open-cluster-management:other:a'] }), ['r2'])
  t.deepEqual(judge([first, second], { requesters: [group] }), ['r1', 'r2'])
  t.regex(
    judge([first, second], { skipsApproveCheck: true }) as string,
    /Several agents/,
    'only the check of the requester is skipped',
  )
  t.deepEqual(judge([first, second], { skipsApproveCheck: true, requesters: [group] }), ['r1', 'r2'])
  t.deepEqual(judge([first, second], { skipsApproveCheck: true, requesters: [`${group}:a`] }), ['r1'])
  t.regex(judge([first], { requesters: [`${group}:c`] }) as string, /None of the requesters/)
  t.deepEqual(judge([first], { requesters: ['system:open-cluster-management:other:a'] }), ['r1'])
  t.deepEqual(judge([first, requestOf({ agent: 'a' }, 'again')]), ['r1', 'again'])
})

test('an agent that comes after another one was approved is not taken for the same', (t) => {
  const [joined, late] = [
    requestOf({ agent: 'a', conditions: ['Approved'], certificate: 'x' }, 'r1'),
    requestOf({ agent: 'b' }, 'r2'),
  ]
  t.deepEqual(judge([joined]), [])
  t.regex(judge([joined, late]) as string, /Several agents/)
  t.deepEqual(judge([joined, late], { requesters: [`${group}:a`] }), [])
})

test('requests decided before the registration belong to another cluster', (t) => {
  const earlier = (agent: string, createdAt: string, conditions = ['Approved']) =>
    requestOf({ agent, conditions, certificate: 'x', createdAt }, agent)
  const left = [
    earlier('b', '2026-11-22T16:37:11Z'),
    earlier('c', '2026-11-22T16:46:56Z'),
    earlier('d', '2026-11-22T16:37:11Z', ['Denied']),
  ]
  t.deepEqual(judge([...left, requestOf({}, 'new')]), ['new'])
  t.is(judge(left), 'It has no join request.')
  // An agent sends its request a moment before its ManagedCluster, or was not answered for long.
  t.regex(judge([earlier('b', '2026-11-22T16:47:56Z'), requestOf({}, 'new')]) as string, /Several agents/)
  t.deepEqual(judge([requestOf({ createdAt: '2026-11-22T16:37:11Z' })]), ['r1'])
})

test('an approval before the registration belongs to an earlier cluster', (t) => {
  const approved = (at: string): ReadRequest => {
    const request = requestOf({ agent: 'b', certificate: 'x', createdAt: '2026-11-22T16:47:50Z' }, 'old')
    const condition = { type: 'Approved', status: 'True', reason: 'AcceptedByPlatform', lastTransitionTime: at }
    const body = { ...request.object.body, status: { certificate: 'x', conditions: [condition] } }
    return { ...request, object: { ...request.object, body } }
  }
  t.deepEqual(judge([approved('2026-11-22T16:47:51Z'), requestOf({}, 'new')]), ['new'])
  // Ours follow the registration, in the same second at the earliest.
  t.regex(judge([approved(registeredAt), requestOf({}, 'new')]) as string, /Several agents/)
})

test('a denied request is reported, unless there is another one', (t) => {
  const denied = requestOf({ conditions: ['Denied'] })
  t.regex(judge([denied]) as string, /denied/)
  t.regex(judge([requestOf({ conditions: ['Approved', 'Denied'] })], { skipsApproveCheck: true }) as string, /denied/)
  t.deepEqual(judge([denied, requestOf({ agent: 'b' }, 'r2')]), ['r2'])
})

const keys = webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
const pemOf = async (name: JsonName): Promise<string> =>
  (
    await Pkcs10CertificateRequestGenerator.create({
      name,
      keys: await keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    })
  ).toString('pem')
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')

test('a subject is read whole: organizations of one set and of several', async (t) => {
  const read = async (name: JsonName) => certificateRequestReader.subjectOf(base64(await pemOf(name)))
  t.deepEqual(await read([{ O: ['a', 'b'] }, { O: ['c,d=é'] }, { CN: ['x:y'] }]), {
    commonName: 'x:y',
    organizations: ['a', 'b', 'c,d=é'],
  })
  t.is(await read([{ O: ['a'] }]), undefined)
  t.is(await read([{ CN: ['a'] }, { CN: ['b'] }]), undefined)
})

test('an invalid certificate request has no subject', async (t) => {
  const pem = await pemOf([{ O: [group] }, { CN: [`${group}:a`] }])
  const wrapped = (der: Uint8Array): string =>
    base64(
      `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`,
    )
  t.truthy(await certificateRequestReader.subjectOf(base64(pem)))
  for (const bad of [
    '',
    '%%',
    'AAAA',
    pem,
    base64(pem + pem),
    base64(`x\n${pem}`),
    base64(pem.replaceAll(' REQUEST', '')),
    base64(`${' '.repeat(20_000)}${pem}`),
  ])
    t.is(await certificateRequestReader.subjectOf(bad), undefined)
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 300 }),
      async (der) => (await certificateRequestReader.subjectOf(wrapped(der))) === undefined,
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.string(), async (text) => (await certificateRequestReader.subjectOf(text)) === undefined),
  )
  const whole = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const changed = Uint8Array.from(whole, (byte, index) => (index === at ? byte ^ flip : byte))
      await certificateRequestReader.subjectOf(wrapped(changed))
    }),
  )
  const nested = Array.from({ length: 3000 }).reduce<Buffer>(
    (inner) => Buffer.concat([Buffer.from([0x30, 0x82, inner.length >> 8, inner.length & 255]), inner]),
    Buffer.alloc(0),
  )
  t.is(await certificateRequestReader.subjectOf(wrapped(nested)), undefined)
})
