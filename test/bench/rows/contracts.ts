import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { runCommandLine } from '../../../composition/moorage.ts'
import { callApi, makeToken, makeUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { adminName, adminPassword, type BenchService } from '../service-process.ts'
import { median, percentile } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { contractSizes, fillWithContracts, firstAccount, firstUids } from './contracts-data.ts'
import type { MeasureRow, RowInput } from './row.ts'

const vendor = { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' }
const asked = 40

const lists = [
  ['contracts of all accounts', '/contracts?limit=50'],
  ['contracts of all accounts, page 100', '/contracts?limit=50&page=100'],
  ['contracts of an account', `/user/contracts?org=${firstAccount}&limit=50`],
  ['contracts of a cluster', `/user/contracts/active/associated-with/clusters/${firstUids(1)[0]}?org=${firstAccount}`],
  ['clusters of offline contracts', `/user/contracts/active/associated-clusters?org=${firstAccount}&limit=50`],
  ['clusters of a contract', `/user/contracts/1/clusters?org=${firstAccount}&limit=50`],
  [
    'status of 1,000 clusters',
    `/user/contracts/active/associated-clusters/batch-status?org=${firstAccount}`,
    { clusters: firstUids(1000) },
  ],
] as const

const listsOn = async (
  { lab, bench, run }: RowInput,
  kind: 'SQLite' | 'MariaDB',
  databaseUrl: string,
): Promise<readonly BenchLine[]> => {
  const { accounts, contracts, clusters } = contractSizes[run.size]
  const what = `${accounts * contracts * clusters} bindings on ${kind}`
  bench.progress.doing(`making ${what}`)
  const filledIn = await fillWithContracts(databaseUrl, run.size)
  // A service does not make a key ring for a database that is in use already.
  const first = await lab.service({ name: `service that makes the key ring for contracts on ${kind}` })
  await first.stop()
  const service = await lab.service({
    name: `service with ${what}`,
    databaseUrl,
    dataDir: first.dataDir,
    settings: vendor,
  })
  const authorization = `Bearer ${await makeToken(service, adminName, adminPassword)}`
  const lines: BenchLine[] = []
  for (const [title, path, body] of lists) {
    bench.progress.doing(`${title}, ${kind}`)
    const times: number[] = []
    for (let n = -10; n < asked; n += 1) {
      const from = performance.now()
      await callApi(service, path, { authorization, ...(body === undefined ? {} : { body }) })
      // The first ones compile; they are not counted.
      if (n >= 0) times.push(performance.now() - from)
    }
    const bar = body === undefined ? bars.contractLists : bars.contractStatuses
    lines.push({
      row: '24',
      what: `${title}, ${what}`,
      ours: {},
      against: '-',
      value: median(times),
      unit: ' ms',
      bar,
      note: `median of ${asked}, one after the other; the data took ${filledIn.toFixed(0)} s`,
    })
  }
  await service.stop()
  return lines
}

/** Row 24: what lists of contracts cost does not grow with the contracts. */
export const contractLists: MeasureRow = async (input) => [
  ...(await listsOn(input, 'SQLite', `sqlite:${join(input.lab.folder, 'contracts.sqlite')}`)),
  ...(await listsOn(input, 'MariaDB', await (await input.lab.mariaDb()).createDatabase())),
]

const keys = {
  'P-256': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'RSA 2048': ['-newkey', 'rsa:2048'],
  Ed25519: ['-newkey', 'ed25519'],
} as const

/** Makes an authority with OpenSSL and gives it to the service by the command. */
const setAuthority = async (folder: string, service: BenchService, key: readonly string[]): Promise<void> => {
  const [keyFile, certificate] = [join(folder, 'authority-key.pem'), join(folder, 'authority.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-new',
      '-nodes',
      '-days',
      '30',
      ...key,
      '-subj',
      '/O=Bench/CN=License authority',
      '-addext',
      'keyUsage=critical,keyCertSign,cRLSign',
      '-keyout',
      keyFile,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  )
  const said: string[] = []
  const code = await runCommandLine(['licenses', 'init', '--rotate', '--certificate', certificate, '--key', keyFile], {
    environment: { MOORAGE_DATA_DIR: service.dataDir, ...vendor },
    print: () => undefined,
    say: (text) => void said.push(text),
  })
  if (code !== 0) throw new Error(`licenses init: ${said.join(' ')}`)
}

const seconds = 5
const atOnce = 16
/** Licenses a second beside which other requests are measured. */
const pace = 200
const pacedSeconds = 4

/** Asks for a user again and again until `until`; returns the milliseconds of each request. */
const readersUntil = async (service: BenchService, token: string, until: () => boolean): Promise<readonly number[]> => {
  const times: number[] = []
  while (!until()) {
    const from = performance.now()
    const answer = await request(`${service.baseUrl}/api/v1/user`, { headers: { authorization: `Bearer ${token}` } })
    await answer.body.dump()
    times.push(performance.now() - from)
  }
  return times
}

/** Starts requests at a fixed pace, whether the earlier ones are answered or not. Resolves with the last answer. */
const issueAtPace = async <Cluster>(
  clusters: Iterable<Cluster>,
  issue: (cluster: Cluster) => Promise<unknown>,
): Promise<void> => {
  const from = performance.now()
  const answers: Promise<unknown>[] = []
  for (const cluster of clusters) {
    if (answers.length === pace * pacedSeconds) break
    await sleep(Math.max(0, from + (answers.length * 1000) / pace - performance.now()))
    answers.push(issue(cluster))
  }
  await Promise.all(answers)
}

/** Row 25: licenses a second, and what other requests wait then. */
export const issueLicenses: MeasureRow = async ({ lab, bench }) => {
  const service = await lab.service({ name: 'service that issues licenses', settings: vendor })
  const user = await makeUser(service, 'bench-ada')
  const authorization = `Bearer ${await makeToken(service, adminName, adminPassword)}`
  const now = Math.floor(Date.now() / 1000)
  const readFor = async (time: number) => {
    const end = performance.now() + time * 1000
    return readersUntil(service, user.token, () => performance.now() > end)
  }
  const lines: BenchLine[] = []
  for (const [name, key] of Object.entries(keys)) {
    await setAuthority(lab.folder, service, key)
    bench.progress.doing(`binding clusters for ${name}`)
    const bound: (readonly [contract: number, cluster: number])[] = []
    for (let each = 0; each < 4; each += 1) {
      const terms = {
        orgOrUser: user.login,
        name: 'Bench',
        products: ['database'],
        features: ['database-enterprise'],
        start: now - 60,
        end: now + 86_400,
        allowOffline: true,
      }
      const [{ id }] = (await callApi(service, '/contracts', { authorization, body: terms })) as [{ id: number }]
      const clusters = (await callApi(service, `/contracts/${id}/clusters`, {
        authorization,
        body: Array.from({ length: 1000 }, () => ({ cluster: randomUUID() })),
      })) as { id: number }[]
      bound.push(...clusters.map((cluster) => [id, cluster.id] as const))
    }
    await readFor(1)
    const idle = await readFor(3)
    bench.progress.doing(`issuing licenses of ${name}`)
    const rest = bound.values()
    let issued = 0
    const from = performance.now()
    const isOver = (): boolean => performance.now() - from > seconds * 1000
    const issue = ([id, ccId]: readonly [number, number]) =>
      callApi(service, `/contracts/${id}/clusters/${ccId}/issue-license`, { method: 'POST', authorization })
    const issuing = Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const cluster of rest) {
          if (isOver()) return
          await issue(cluster)
          issued += 1
        }
      }),
    )
    const busy = await readersUntil(service, user.token, () => isOver() || issued >= bound.length)
    await issuing
    const took = (performance.now() - from) / 1000
    bench.progress.doing(`issuing ${pace} licenses of ${name} a second`)
    let isPacedOver = false
    const pacing = issueAtPace(rest, issue).finally(() => (isPacedOver = true))
    const paced = await readersUntil(service, user.token, () => isPacedOver)
    await pacing
    const [p99Idle, p99, p99Paced] = [percentile(idle, 0.99), percentile(busy, 0.99), percentile(paced, 0.99)]
    const shown = `${issued} licenses on SQLite, ${atOnce} requests at once; one reader of GET /user waits ${p99.toFixed(1)} ms (p99) then`
    lines.push({
      row: '25',
      what: `licenses a second, ${name}`,
      ours: { perSecond: issued / took, p99Ms: p99 },
      against: '-',
      value: issued / took,
      unit: '',
      bar: bars.licenses,
      note: shown,
    })
    const beside = `one reader of GET /user waits ${p99Paced.toFixed(1)} ms (p99), without licenses ${p99Idle.toFixed(1)} ms; in the median ${median(paced).toFixed(1)} and ${median(idle).toFixed(1)} ms`
    lines.push({
      row: '25',
      what: `others at ${pace} licenses a second, ${name}`,
      ours: { p99Ms: p99Paced },
      against: 'without licenses',
      twin: { p99Ms: p99Idle },
      value: p99Paced / p99Idle,
      unit: 'x',
      bar: bars.besideLicenses,
      note: beside,
    })
  }
  await service.stop()
  return lines
}
