import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { stringify } from 'yaml'
import { startControlPlane } from '../../support/components/control-plane.ts'
import type { ControlPlane } from '../../support/components/control-plane.ts'
import { managedClusterSets } from '../../support/hub/api/kinds.ts'
import { makeKubeClient, type KubeClient } from '../../support/hub/api/kube-client.ts'
import { fillHub } from '../../support/hub/example/fill-hub.ts'
import { installHubCrds } from '../../support/hub/install-hub-crds.ts'
import { startTestHub } from '../../support/hub/test-hub.ts'
import { callApi, importCluster, makeUser, type BenchUser } from '../api-calls.ts'
import { bars, type Bar } from '../bars.ts'
import { residentMegabytes } from '../process-figures.ts'
import type { BenchService } from '../service-process.ts'
import { best, median, pairedRatio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import { makeStubCertificate } from '../upstream/certificate.ts'
import type { MeasureRow, RowInput } from './row.ts'

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const inControlPlane = async <A>({ bench }: RowInput, work: (hub: ControlPlane) => Promise<A>): Promise<A> => {
  bench.progress.doing('starting a kube-apiserver')
  const hub = await startControlPlane((line) => bench.progress.doing(line))
  try {
    return await work(hub)
  } finally {
    await hub.stop()
  }
}

const sizes = { clusters: 1000, sets: 50, features: 200 } as const
/** A set of all clusters, as `global` is on a real hub. */
const wholeSet = 'everything'

const fill = async (client: KubeClient): Promise<void> => {
  await fillHub(client, { prefix: '', ...sizes })
  await client.create(managedClusterSets, {
    metadata: { name: wholeSet },
    spec: { clusterSelector: { selectorType: 'LabelSelector', labelSelector: {} } },
  })
  const features = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `feature-${index + 1}`,
      {
        featureSet: `features-${Math.floor(index / 10) + 1}`,
        chart: { name: `feature-${index + 1}`, version: '2026.7.1', sourceRef: { name: 'charts' } },
      },
    ]),
  )
  await client.call('POST', '/apis/profile.k8s.appscode.com/v1alpha1/managedclustersetprofiles', {
    apiVersion: 'profile.k8s.appscode.com/v1alpha1',
    kind: 'ManagedClusterSetProfile',
    metadata: { name: wholeSet },
    spec: { namespaces: [], features },
  })
}

interface Compared {
  readonly row: string
  readonly what: string
  /** The route of the service, below its hub. */
  readonly route: string
  /** The lists that the route needs, as paths of the hub. */
  readonly lists: readonly string[]
}

const compared: readonly Compared[] = [
  {
    row: '21a',
    what: `clustersets, ${sizes.clusters} clusters in ${sizes.sets} sets`,
    route: 'clustersets',
    lists: [
      'cluster.open-cluster-management.io/v1beta2/managedclustersets',
      'cluster.open-cluster-management.io/v1/managedclusters',
    ],
  },
  {
    row: '21b',
    what: `sync-status/all-features, ${sizes.clusters} spokes, ${sizes.features} features`,
    route: `clustersets/${wholeSet}/sync-status/all-features`,
    lists: [
      'cluster.open-cluster-management.io/v1/managedclusters',
      'work.open-cluster-management.io/v1/manifestworks',
      'ui.k8s.appscode.com/v1alpha1/features',
      'ui.k8s.appscode.com/v1alpha1/featuresets',
    ],
  },
]

/** The lists as a client makes them that has no other work: at the same time, in pages of 500, each parsed. */
const makeRawLists = (hub: ControlPlane): ((lists: readonly string[]) => Promise<void>) => {
  const dispatcher = new Agent({ connect: { ca: hub.caPem } })
  const list = async (path: string): Promise<void> => {
    let after = ''
    do {
      const url = `${hub.url}/apis/${path}?limit=500${after === '' ? '' : `&continue=${encodeURIComponent(after)}`}`
      const answer = await request(url, {
        dispatcher,
        headers: { authorization: `Bearer ${hub.tokenFor('admin')}`, accept: 'application/json' },
      })
      const page = (await answer.body.json()) as { readonly metadata: { readonly continue?: string } }
      if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`)
      after = page.metadata.continue ?? ''
    } while (after !== '')
  }
  return async (lists) => void (await Promise.all(lists.map(list)))
}

interface Asked {
  readonly service: BenchService
  readonly user: BenchUser
}

const get = async ({ service, user }: Asked, path: string): Promise<unknown> =>
  callApi(service, path, { authorization: `Bearer ${user.token}` })

const compareLists = async (
  input: RowInput,
  asked: Asked,
  hub: ControlPlane,
  { row, what, route, lists }: Compared,
): Promise<readonly BenchLine[]> => {
  const { bench, run } = input
  const rounds = run.quick ? 7 : 21
  const rawLists = makeRawLists(hub)
  const path = `/clusters/${asked.user.login}/hub/${route}`
  const times = { ours: [] as number[], raw: [] as number[], stillMs: [] as number[], stillCpuMs: [] as number[] }
  bench.progress.measuring(what, rounds)
  // The first rounds compile; they are not counted.
  for (let round = -5; round < rounds; round += 1) {
    if (round >= 0) bench.progress.round(round + 1, rounds)
    const raw = await timed(() => rawLists(lists))
    await get(asked, '/bench/event-loop')
    const ours = await timed(() => get(asked, path))
    const still = (await get(asked, '/bench/event-loop')) as { readonly max_ms: number; readonly max_cpu_ms: number }
    if (round < 0) continue
    times.ours.push(ours)
    times.raw.push(raw)
    times.stillMs.push(still.max_ms)
    times.stillCpuMs.push(still.max_cpu_ms)
  }
  const shown = (values: readonly number[]): string => `${median(values).toFixed(0)} ms`
  return [
    {
      row,
      what,
      ours: { perSecond: 1000 / median(times.ours) },
      against: `${lists.length} lists of the hub, parsed`,
      twin: { perSecond: 1000 / median(times.raw) },
      value: pairedRatio(times.ours, times.raw),
      bestValue: best(times.ours, 'less') / best(times.raw, 'less'),
      unit: 'x',
      bar: bars.hubLists,
      note: `${shown(times.ours)} over HTTP, the lists ${shown(times.raw)}`,
    },
    {
      row,
      what: 'event loop held by it, in CPU time',
      ours: {},
      against: '-',
      value: median(times.stillCpuMs),
      bestValue: best(times.stillCpuMs, 'less'),
      unit: ' ms',
      bar: bars.hubStillness,
      note: `at most ${Math.max(...times.stillCpuMs).toFixed(0)} ms in ${rounds} rounds; by the clock, which counts other processes, ${shown(times.stillMs)}`,
    },
  ]
}

/** Row 21: what the service adds to the lists of a large hub. */
export const hubLists: MeasureRow = (input) =>
  inControlPlane(input, async (hub) => {
    const { lab, bench } = input
    bench.progress.doing(`filling a hub with ${sizes.clusters} clusters`)
    await installHubCrds(hub)
    const client = makeKubeClient(hub, { token: hub.tokenFor('admin') })
    await fill(client)
    await client.close()
    const service = await lab.service({ name: 'service of a large hub' })
    const user = await makeUser(service, 'bench-ada')
    await importCluster(service, user, 'hub', hub.kubeconfig())
    const lines: BenchLine[] = []
    for (const each of compared) lines.push(...(await compareLists(input, { service, user }, hub, each)))
    await service.stop()
    return lines
  })

const [hubs, silentHubs] = [20, 3]

const oneLine = (
  row: string,
  what: string,
  values: readonly number[],
  unit: string,
  bar: Bar,
  note: string,
): BenchLine => ({
  row,
  what,
  ours: {},
  against: '-',
  value: median(values),
  bestValue: best(values, 'less'),
  unit,
  bar,
  note,
})

/** Row 22: hubs that hang do not delay the list of hubs beyond the time that each of them has. */
export const silentHubsInList: MeasureRow = async ({ lab, bench, run }) => {
  const folder = join(lab.folder, 'stub-hubs')
  await mkdir(folder)
  const certificate = await makeStubCertificate(folder)
  const server = await lab.twin('upstream/stub-hubs.ts', {
    certificate: certificate.certificatePath,
    key: certificate.keyPath,
    hubs,
    silent: silentHubs,
  })
  const service = await lab.service({ name: 'service of twenty hubs' })
  const user = await makeUser(service, 'bench-ada')
  bench.progress.doing(`importing ${hubs} hubs`)
  for (let index = 0; index < hubs; index += 1) {
    const cluster = {
      server: `https://127.0.0.1:${server.port}/hub-${index}`,
      'certificate-authority-data': Buffer.from(certificate.pem).toString('base64'),
    }
    await importCluster(
      service,
      user,
      `hub-${index}`,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'hub', cluster }],
        users: [{ name: 'hub', user: { token: 'any' } }],
        contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
        'current-context': 'hub',
      }),
    )
  }
  const times: number[] = []
  for (let round = 0; round < (run.quick ? 2 : 4); round += 1) {
    const from = performance.now()
    const listed = (await get({ service, user }, `/clusters/${user.login}/hubs`)) as readonly {
      readonly name: string
      readonly spokeClusters: number
    }[]
    times.push((performance.now() - from) / 1000)
    const counted = listed.filter(
      ({ name, spokeClusters }) => spokeClusters === Number(name.slice('hub-'.length)) + 7,
    ).length
    if (listed.length !== hubs || counted !== hubs - silentHubs)
      throw new Error(`${listed.length} hubs were listed, ${counted} of them with their counts`)
  }
  await service.stop()
  return [
    oneLine(
      '22',
      `hubs, ${hubs} of which ${silentHubs} hang`,
      times,
      ' s',
      bars.hubsInTime,
      'the others are listed with their counts in every answer',
    ),
  ]
}

const spokes = 100

/** Row 23: the join requests of a hundred spokes, accepted by one request. */
export const acceptSpokes: MeasureRow = (input) =>
  inControlPlane(input, async (server) => {
    const { lab, bench } = input
    const hub = await startTestHub(server, { prefix: '' })
    const service = await lab.service({ name: 'service that accepts spokes' })
    try {
      const user = await makeUser(service, 'bench-ada')
      await importCluster(service, user, 'hub', server.kubeconfig())
      bench.progress.doing(`waiting for ${spokes} spokes that ask to join`)
      const names = Array.from({ length: spokes }, (_, index) => `spoke-${index}`)
      for (const name of names) await hub.agent(name)
      const before = residentMegabytes(service.pid)
      const seconds =
        (await timed(() =>
          callApi(service, `/clusters/${user.login}/hub/accept-spoke`, {
            authorization: `Bearer ${user.token}`,
            body: { clusters: names },
          }),
        )) / 1000
      const megabytes = residentMegabytes(service.pid, 'at most') - before
      const left = (await get(
        { service, user },
        `/clusters/${user.login}/hub/not-accepted-clusters`,
      )) as readonly unknown[]
      if (left.length > 0) throw new Error(`${left.length} spokes were not accepted`)
      return [
        oneLine(
          '23',
          `accept ${spokes} spokes`,
          [seconds],
          ' s',
          bars.acceptInTime,
          '8 at a time; the hub is a kube-apiserver of its own, with its controllers and the agents beside the bench',
        ),
        oneLine(
          '23',
          'memory that it takes',
          [megabytes],
          ' MB',
          bars.acceptMegabytes,
          'of the process, at most, over what it had before',
        ),
      ]
    } finally {
      await hub.stop()
      await service.stop()
    }
  })
