// process: waiting - uses components
import { execFileSync } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { clusterInfoReader } from '../../adapters/kubernetes/kubeconfig.ts'
import { secret } from '../../core/kernel/secret.ts'
import { joinCommand, shellWord, type Installer } from '../../core/hubs/spokes/join-command.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusters, signingRequests } from '../support/hub/api/kinds.ts'
import { isTrue } from '../support/hub/api/object-changes.ts'
import { clusterNameLabel, joinedCondition } from '../support/hub/api/ocm-names.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { until } from '../support/until.ts'
import { makeMembers, startSpokeFixture, statusOf, type SpokeFixture } from './spoke-fixture.ts'

/** spoke-command on a real kube-apiserver, its text in a real shell, and what an agent does with its token. */
const test = needing('kubernetes')

let fixture: SpokeFixture
let hub: TestHub
test.before(async () => {
  ;[fixture, hub] = await Promise.all([startSpokeFixture(), startTestHub((await kubernetes())!)])
})
test.after.always(async () => {
  await fixture?.service.stop()
  await hub?.stop()
})

/** Functions in place of the programs write their arguments, each ended by NUL, and then their standard input. */
const programs = 'clusteradm() { printf "%s\\0" "$@"; printf "\\0"; cat; }\nhelm() { clusteradm "$@"; }\n'
/** What a real shell makes of a command. */
const run = (command: string): { readonly words: readonly string[]; readonly input: string } => {
  const text = execFileSync('sh', ['-c', programs + command], { input: '', encoding: 'utf8' })
  const end = text.indexOf('\0\0')
  return { words: text.slice(0, end).split('\0'), input: text.slice(end + 2) }
}
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----'

test('a word is one word of a real shell, whatever is in it', (t) => {
  const texts = fc.array(
    fc
      .string({
        unit: fc.oneof(
          fc.constantFrom("'", '"', '$', '`', '\\', '\n', ' ', '!', '*', '#', '~', ';'),
          fc.string({ minLength: 1, maxLength: 1 }),
        ),
      })
      .filter((text) => !text.includes('\0')),
    { minLength: 1, maxLength: 40 },
  )
  fc.assert(
    fc.property(texts, (words) => {
      const shown = execFileSync('sh', ['-c', `printf '%s\\0' ${words.map(shellWord).join(' ')}`], { encoding: 'utf8' })
      return shown === words.map((word) => `${word}\0`).join('')
    }),
    { numRuns: 30 },
  )
  t.pass()
})

test('a command has the expected arguments in a real shell', (t) => {
  const hostile = fc.string({
    unit: fc.constantFrom("'", '"', '$(', '`', '\\', '\n', ' ', 'a', 'END_OF_INPUT'),
    maxLength: 12,
  })
  fc.assert(
    fc.property(
      hostile,
      hostile,
      fc.constantFrom(undefined, pem),
      fc.dictionary(fc.constantFrom('a', 'b'), hostile),
      (token, server, authorityPem, annotations) => {
        const facts = {
          clusterName: 'shop',
          token: secret(`t${token}`),
          address: { server: `https://${server}`, authorityPem },
          annotations,
        }
        const { words, input } = run(joinCommand('clusteradm', facts).reveal())
        const extra = Object.entries(annotations).flatMap(([key, value]) => [
          '--klusterlet-annotation',
          `agent.open-cluster-management.io/${key}=${value}`,
        ])
        t.deepEqual(words, [
          'join',
          '--hub-token',
          `t${token}`,
          '--hub-apiserver',
          `https://${server}`,
          '--cluster-name',
          'shop',
          ...extra,
          ...(authorityPem === undefined ? [] : ['--ca-file', '/dev/stdin']),
        ])
        t.is(input, authorityPem === undefined ? '' : `${pem}\n`)
        const helm = run(joinCommand('helm', facts).reveal())
        t.deepEqual(helm.words.slice(0, 4), ['upgrade', '--install', 'klusterlet', 'klusterlet'])
        t.deepEqual(helm.words.slice(-2), ['--values', '-'])
        const kubeconfig = JSON.parse(
          (JSON.parse(helm.input) as { bootstrapHubKubeConfig: string }).bootstrapHubKubeConfig,
        ) as { users: unknown[] }
        t.deepEqual(kubeconfig.users, [{ name: 'bootstrap', user: { token: `t${token}` } }])
      },
    ),
    { numRuns: 20 },
  )
})

const command = async (body: object, installer?: Installer): Promise<string> => {
  const answer = await expectStatus(
    fixture.post(`spoke-command${installer === undefined ? '' : `?installer=${installer}`}`, body),
    200,
  )
  return (answer.json as { spoke: string }).spoke
}

test("a command has the hub's address and a bootstrap token for an hour", async (t) => {
  const clusterName = fixture.name()
  const { words, input } = run(
    await command({ clusterName, hostClusterName: 'host', hostClusterUID: 'uid-1', hostClusterOwnerID: 4 }),
  )
  const token = words[2] ?? ''
  const prefix = 'agent.open-cluster-management.io/host-cluster'
  t.deepEqual(words, [
    'join',
    '--hub-token',
    token,
    '--hub-apiserver',
    fixture.cluster.url,
    '--cluster-name',
    clusterName,
    '--klusterlet-annotation',
    `${prefix}-name=host`,
    '--klusterlet-annotation',
    `${prefix}-uid=uid-1`,
    '--klusterlet-annotation',
    `${prefix}-owner-id=4`,
    '--ca-file',
    '/dev/stdin',
  ])
  t.is(input.trim(), fixture.cluster.caPem.trim())
  const claims = decodeJwt(token)
  t.is(claims.sub, 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap')
  t.is(claims.exp! - claims.iat!, 3600)
  const who = await fixture.cluster.request(
    'GET',
    '/apis/cluster.open-cluster-management.io/v1/managedclusters?limit=1',
    undefined,
    { token },
  )
  t.is(who.status, 200)
  t.is((await fixture.cluster.request('GET', '/api/v1/namespaces', undefined, { token })).status, 403)
})

test('with Helm, the values on standard input have a kubeconfig that works', async (t) => {
  const clusterName = fixture.name()
  const { words, input } = run(await command({ clusterName, hostClusterName: 'host' }, 'helm'))
  const values = JSON.parse(input) as { klusterlet: object; bootstrapHubKubeConfig: string }
  t.deepEqual(values.klusterlet, {
    clusterName,
    registrationConfiguration: { clusterAnnotations: { 'agent.open-cluster-management.io/host-cluster-name': 'host' } },
  })
  const kubeconfig = JSON.parse(values.bootstrapHubKubeConfig) as {
    clusters: { cluster: Record<string, string> }[]
    users: { user: { token: string } }[]
  }
  t.is(kubeconfig.clusters[0]?.cluster['server'], fixture.cluster.url)
  t.is(
    Buffer.from(kubeconfig.clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64')
      .toString()
      .trim(),
    fixture.cluster.caPem.trim(),
  )
  const token = kubeconfig.users[0]?.user.token ?? ''
  t.is(decodeJwt(token).sub, 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap')
  t.false(
    words.some((word) => word.includes(token)),
    'other users of the machine see the words of a command',
  )
})

test('the answer is not stored, and the token is in no log line and no audit row', async (t) => {
  const clusterName = fixture.name()
  const answer = await expectStatus(fixture.post('spoke-command', { clusterName }), 200)
  t.is(answer.headers['cache-control'], 'no-store')
  const token = run((answer.json as { spoke: string }).spoke).words[2] ?? ''
  const [, claims = ''] = token.split('.')
  const rows = (await fixture.audited('cluster.spoke_command_issued')).filter(
    ({ changes }) => changes['spoke'] === clusterName,
  )
  t.deepEqual(
    rows.map(({ object_name, changes }) => [object_name, changes]),
    [['hub', { spoke: clusterName, installer: 'clusteradm' }]],
  )
  t.false(JSON.stringify(rows).includes(claims))
  t.false(fixture.service.logText().includes(claims))
})

test('values that contradict the hub are 422, and empty ones are ignored', async (t) => {
  const record = (
    await expectStatus(
      fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/hub`, { token: fixture.owner.token }),
      200,
    )
  ).json as { uid: string; ownerID: number }
  const clusterName = fixture.name()
  await command({ clusterName, hubClusterName: 'hub', hubClusterUID: record.uid, hubClusterOwnerID: record.ownerID })
  await command({ clusterName, hubClusterName: '', hubClusterUID: '', hubClusterOwnerID: 0, hostClusterName: null })
  for (const other of [
    { hubClusterName: 'other' },
    { hubClusterUID: 'other' },
    { hubClusterOwnerID: record.ownerID + 1 },
  ])
    await statusOf(t, fixture.post('spoke-command', { clusterName, ...other }), 422, 'JoinCommandRefused')
  const bad = [
    {},
    { clusterName: '' },
    { clusterName: 'A' },
    { clusterName: 'a b' },
    { clusterName: "a';id;'" },
    { clusterName: 'a.b' },
    { clusterName: 'x'.repeat(64) },
    { clusterName: 7 },
    { clusterName, hostClusterName: '$(id)' },
    { clusterName, hostClusterUID: "'" },
    { clusterName, hostClusterOwnerID: '4' },
    { clusterName, hubClusterName: 7 },
  ]
  for (const body of bad) await statusOf(t, fixture.post('spoke-command', body), 422)
  await statusOf(t, fixture.post('spoke-command?installer=curl', { clusterName }), 400)
})

test('a cluster that is being removed gets no command', async (t) => {
  const name = fixture.name()
  await fixture.plantCluster(name, { metadata: { finalizers: ['example.com/stay'] } })
  await command({ clusterName: name })
  await fixture.must('DELETE', `/apis/cluster.open-cluster-management.io/v1/managedclusters/${name}`)
  await statusOf(t, fixture.post('spoke-command', { clusterName: name }), 422, 'JoinCommandRefused')
})

test('the command needs the right to import spokes', async (t) => {
  const member = await makeMembers(fixture, {
    viewer: ['view clusters', 'view hubs', 'accept spokes'],
    importer: ['view clusters', 'view hubs', 'import spokes'],
  })
  for (const [who, status] of [
    ['viewer', 403],
    ['importer', 200],
    ['stranger', 404],
  ] as const)
    await statusOf(t, fixture.post('spoke-command', { clusterName: fixture.name() }, member(who)), status)
})

test('an older hub serves its account or its newest bootstrap token', async (t) => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const json =
    (status: number, body: unknown) =>
    (_req: unknown, res: ServerResponse): void => {
      res.writeHead(status, { 'content-type': 'application/json' })
      res.end(JSON.stringify(body))
    }
  const missing = json(404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 })
  const accounts = '/api/v1/namespaces/open-cluster-management/serviceaccounts'
  fake.on('/apis/cluster.open-cluster-management.io/v1/managedclusters', missing)
  fake.on('/api/v1/namespaces/kube-public/configmaps', missing)
  fake.on(accounts, missing)
  fake.on('/api/v1/namespaces/kube-system/secrets', json(200, { items: [] }))
  const name = 'old-hub'
  await expectStatus(
    importCluster(fixture.service.send, fixture.owner.token, fixture.org, name, fake.kubeconfig()),
    200,
  )
  const asked = () => fixture.post('spoke-command', { clusterName: 'shop' }, fixture.owner, `${fixture.org}/${name}`)
  await statusOf(t, asked(), 500, 'BootstrapMissing')
  const secretOf = (id: string, creationTimestamp: string, suffix = '0123456789abcdef') => ({
    metadata: { name: `bootstrap-token-${id}`, creationTimestamp },
    data: { 'token-id': btoa(id), 'token-secret': btoa(suffix) },
  })
  fake.on(
    '/api/v1/namespaces/kube-system/secrets',
    json(200, {
      items: [
        secretOf('aaaaaa', '2026-01-01T00:00:00Z'),
        secretOf('bbbbbb', '2026-03-01T00:00:00Z'),
        secretOf('cccccc', '2026-04-01T00:00:00Z', 'bad'),
        { ...secretOf('dddddd', '2026-05-01T00:00:00Z'), metadata: { name: 'other' } },
      ],
    }),
  )
  const wordsOf = async (): Promise<readonly string[]> =>
    run(((await expectStatus(asked(), 200)).json as { spoke: string }).spoke).words
  // The hub publishes no address, so that the one of the record is used, with its authority.
  t.deepEqual(await wordsOf(), [
    'join',
    '--hub-token',
    'bbbbbb.0123456789abcdef',
    '--hub-apiserver',
    fake.url,
    '--cluster-name',
    'shop',
    '--ca-file',
    '/dev/stdin',
  ])
  fake.on(
    `${accounts}/cluster-bootstrap/token`,
    json(201, { kind: 'TokenRequest', status: { token: 'of.the.account' } }),
  )
  t.is((await wordsOf())[2], 'of.the.account')
})

test('a published kubeconfig is read, or there is none', (t) => {
  const read = (text: string) => clusterInfoReader.addressOf(text)
  const file = (cluster: object): string => JSON.stringify({ clusters: [{ name: '', cluster }], users: null })
  t.deepEqual(read(file({ server: 'https://hub:6443/', 'certificate-authority-data': btoa(pem) })), {
    server: 'https://hub:6443',
    authorityPem: pem,
  })
  t.deepEqual(read(file({ server: 'https://hub', 'certificate-authority-data': '%%' })), {
    server: 'https://hub',
    authorityPem: undefined,
  })
  for (const bad of [
    '',
    'clusters: []',
    'clusters: 7',
    '{',
    '- &a [*a]',
    file({ server: 'http://hub' }),
    file({ server: 'https://u:p@hub' }),
    file({}),
    `${' '.repeat(300_000)}${file({ server: 'https://hub' })}`,
  ])
    t.is(read(bad), undefined, bad.slice(0, 40))
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => (read(text), true)))
})

const listed = async (route: string, name: string) =>
  ((await expectStatus(fixture.get(route), 200)).json as { name: string; clusterUID: string }[]).find(
    (each) => each.name === name,
  )

test('a cluster registers with its command, is accepted and joins', async (t) => {
  const name = hub.name()
  const { json } = await expectStatus(fixture.post('spoke-command', { clusterName: name }), 200)
  const token = execFileSync('sh', ['-c', `clusteradm() { printf %s "$3"; }\n${(json as { spoke: string }).spoke}`], {
    encoding: 'utf8',
  })
  const agent = await hub.agent(name, { bootstrapToken: token })
  t.teardown(() => agent.stop())
  await until('the cluster in the list', async () =>
    (await listed('not-accepted-clusters', name)) === undefined ? undefined : true,
  )
  await until('its certificate request', async () =>
    (await hub.client.list(signingRequests, { labelSelector: `${clusterNameLabel}=${name}` })).items.length > 0
      ? true
      : undefined,
  )
  await expectStatus(fixture.post('accept-spoke', { clusters: [name] }), 200)
  t.deepEqual(
    [await listed('not-accepted-clusters', name), (await listed('accepted-clusters', name))?.name],
    [undefined, name],
  )
  await until(`the join of ${name}: ${hub.problems().join('; ')}`, async () => {
    const found = await hub.client.get(managedClusters, name)
    return found !== undefined && isTrue(found, joinedCondition) ? true : undefined
  })
  const uid = await until(
    'the UID of the spoke',
    async () => (await listed('available-clusters', name))?.clusterUID || undefined,
  )
  t.is(uid, (await hub.spoke.call<{ metadata: { uid: string } }>('GET', '/api/v1/namespaces/kube-system')).metadata.uid)
  // Again, while controllers and agent change the objects of the cluster.
  await expectStatus(fixture.post('accept-spoke', { clusters: [name] }), 200)
})
