// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { jsonCredentialCodec } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { makeClusterAnswers } from '../../composition/parts/clusters/answers.ts'
import { makeMetrics } from '../../composition/runtime/http/metrics.ts'
import { credentialPlace, makeCredentialEnds } from '../../core/clusters/connections.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import type { ClusterCredential, ClusterLink } from '../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { declaredMetrics } from '../docs/monitoring/metric-list.ts'
import { promtool } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { runCommand } from '../support/components/run-command.ts'
import { startFakeKubernetes, tokenUntil } from '../support/fake-kubernetes.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const scrape = async (opsUrl: string): Promise<string> => (await fetch(`${opsUrl}/metrics`)).text()

/** Returns the series of an exposition by the name of their metric. */
const seriesOf = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  let name = ''
  for (const line of text.split('\n')) {
    name = /^# TYPE (\w+)/.exec(line)?.[1] ?? name
    if (line !== '' && !line.startsWith('#')) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** Signs in wrongly and calls routes, so that what counts has counted. */
const busyService = async (t: ExecutionContext) => {
  const service = await startService({
    settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true' },
  })
  t.teardown(() => service.stop())
  for (let n = 0; n < 6; n++) await service.send('GET', '/api/v1/user', { basic: ['admin', 'wrong'] })
  await service.send('GET', '/api/v1/user', { token: service.adminToken })
  return service
}

test('each declared metric has type and help, and passwords count by reason', async (t) => {
  const service = await busyService(t)
  const text = await scrape(service.opsUrl)
  const own = (await declaredMetrics()).filter(({ name }) => name.startsWith('moorage_'))
  const missing = own.filter(
    ({ name, type = 'gauge', help, part }) =>
      !['marketplace-messages', 'metering', 'workers'].includes(part) &&
      !text.includes(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`),
  )
  t.deepEqual(missing, [])
  t.regex(text, /^moorage_sign_in_refusals_total\{kind="password",reason="wrong"\} 5$/m)
  t.regex(text, /^moorage_sign_in_refusals_total\{kind="password",reason="subject-locked"\} 1$/m)
  t.regex(text, /^moorage_account_locks_total\{kind="password"\} 1$/m)
  t.regex(text, /^moorage_database_takes_changes 1$/m)
  t.regex(text, /^moorage_pool_waiting\{pool="names"\} 0$/m)
  t.regex(text, /^moorage_disk_free_bytes\{folder="data"\} [1-9]/m)
  t.regex(text, /^moorage_mail_queued \d/m)
  t.regex(text, /^moorage_clusters\{phase="Active"\} 0$/m)
})

const onPromtool = needing('promtool')

onPromtool('promtool has nothing to say about the metrics', async (t) => {
  const service = await busyService(t)
  const { status, stdout, stderr } = await runCommand((await promtool())!, ['check', 'metrics'], {
    input: await scrape(service.opsUrl),
  })
  t.deepEqual([status, stdout, stderr], [0, '', ''])
})

test('names that callers make up, users and clusters add no series', async (t) => {
  const service = await startService()
  t.teardown(() => service.stop())
  const call = async (): Promise<void> => {
    const name = `x${randomUUID().slice(0, 8)}`
    await service.send('GET', '/api/v1/user', { basic: [name, 'wrong'] })
    await service.send('GET', `/api/v1/${name}`, { token: service.adminToken })
    await service.send('GET', `/api/v1/users/${name}`, { token: service.adminToken })
    await service.send('GET', `/api/v1/clusters/${name}/${name}`, { token: service.adminToken })
  }
  await call()
  // Reading the metrics makes no series of its own, but the first scrape may.
  await scrape(service.opsUrl)
  const before = seriesOf(await scrape(service.opsUrl))
  for (let n = 0; n < 25; n++) await call()
  const after = seriesOf(await scrape(service.opsUrl))
  const grown = [...after].filter(([name, count]) => name.startsWith('moorage_') && count > (before.get(name) ?? 0) + 1)
  t.deepEqual(grown, [])
})

test('the end of the credential of a cluster is shown, of the 50 with the nearest end', async (t) => {
  const fake = await startFakeKubernetes()
  const end = Math.floor(Date.now() / 1000) + 86_400
  fake.token = tokenUntil(end)
  const service = await startService()
  t.teardown(async () => {
    await service.stop()
    await fake.stop()
  })
  await expectStatus(importCluster(service.send, service.adminToken, 'admin', 'quay', fake.kubeconfig()), 200)
  const line = `moorage_cluster_credential_expiry_timestamp_seconds{cluster="admin/quay"} ${end}\n`
  await until('the end of the credential', async () => (await scrape(service.opsUrl)).includes(line) || undefined)

  const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)
  const now = new Date()
  const inDays = (days: number): Date => new Date(now.getTime() + days * 86_400_000)
  const records = await Promise.all(
    Array.from({ length: 130 }, async (_, n) => ({
      id: (n + 1) as ClusterId,
      ownerId: 1 as AccountId,
      ownerName: 'owner',
      name: `c${n}`,
      ref: `ref-${n}`,
      // The 7th was sealed for another record.
      box: await secretBox.seal(secret(`${n - 60}`), credentialPlace(1 as AccountId, `ref-${n === 7 ? 8 : n}`)),
    })),
  )
  const ends = await makeCredentialEnds({
    clusters: { sealedAfter: async (id, limit) => records.filter((record) => record.id > id).slice(0, limit) },
    secretBox,
    codec: {
      ...jsonCredentialCodec,
      decode: (text) => ({ server: text.reveal() }) as ClusterCredential,
      endOf: ({ server }) => (server === '3' ? undefined : inDays(Number(server) + 0.1)),
    },
    pause: () => undefined,
  })(now, 50)
  t.is(ends.length, 50)
  t.is(ends[0]?.name, 'c60')
  t.false(ends.some(({ name }) => name === 'c63'))
  t.deepEqual(
    [
      ends.some(({ name }) => name === 'c36'),
      ends.some(({ name }) => name === 'c34'),
      ends.some(({ name }) => name === 'c86'),
    ],
    [true, false, false],
  )
})

test('50 failing clusters have own series, and the rest is other', async (t) => {
  const answers = makeClusterAnswers()
  const link = (n: number): ClusterLink => ({ ownerName: `owner${n}`, name: 'quay' }) as ClusterLink
  for (let n = 0; n < 500; n++) {
    answers.note(link(n), left(ClusterUnreachable('No.', { reason: 'ECONNREFUSED' })))
    answers.note(link(n), left(ClusterUnreachable('No.', { reason: `what a user wrote ${n}` })))
    answers.note(link(n), right(503))
    answers.note(link(n), right(200))
  }
  const failures = answers.failures.samples()
  t.is(new Set(failures.map(({ labels }) => labels['cluster'])).size, 51)
  t.deepEqual([...new Set(failures.map(({ labels }) => labels['reason']))].sort(), [
    'ClusterUnreachable',
    'ECONNREFUSED',
    'HTTP 503',
  ])
  t.deepEqual(
    failures.find(({ labels }) => labels['cluster'] === 'other' && labels['reason'] === 'ECONNREFUSED')?.value,
    450,
  )
  t.deepEqual(Object.fromEntries(answers.byOutcome.samples().map(({ labels, value }) => [labels['outcome'], value])), {
    ClusterUnreachable: 1000,
    answered_5xx: 500,
    answered: 500,
  })
  const metrics = makeMetrics('1')
  metrics.read({
    openStreams: () => ({
      exchanges: new Map(Array.from({ length: 200 }, (_, n) => [`owner/c${n}`, n + 1])),
      tunnels: new Map(),
    }),
  })
  const lines = (await metrics.expose()).text.split('\n').filter((line) => line.startsWith('moorage_proxy_open{'))
  t.is(lines.length, 52)
  t.true(lines.includes('moorage_proxy_open{kind="exchange",cluster="owner/c199"} 200'))
  t.true(lines.includes(`moorage_proxy_open{kind="exchange",cluster="other"} ${(150 * 151) / 2}`))
})
