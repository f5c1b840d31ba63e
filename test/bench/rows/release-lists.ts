import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { parse } from 'yaml'
import { findHelm } from '../../support/components/helm.ts'
import { makeHelmCli } from '../../support/run-helm.ts'
import { importCluster, makeUser } from '../api-calls.ts'
import { median, pairedRatio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'

interface ReleaseCluster {
  readonly kubeconfig: string
  /** Gives every record a new version, so that nothing remembered counts. */
  rewrite(): Promise<void>
}

const startCluster = async ({ lab }: RowInput, releases: number, revisions: number): Promise<ReleaseCluster> => {
  const file = join(lab.folder, `releases-${releases}.kubeconfig`)
  await lab.twin('upstream/release-cluster.ts', { releases, revisions, kubeconfig: file })
  const kubeconfig = readFileSync(file, 'utf8')
  const { clusters, users } = parse(kubeconfig) as {
    clusters: { cluster: { server: string; 'certificate-authority-data': string } }[]
    users: { user: { token: string } }[]
  }
  const { server = '', 'certificate-authority-data': ca = '' } = clusters[0]?.cluster ?? {}
  const dispatcher = new Agent({ connect: { ca: Buffer.from(ca, 'base64') } })
  return {
    kubeconfig,
    rewrite: async () => {
      const answer = await request(`${server}/rewrite`, {
        dispatcher,
        headers: { authorization: `Bearer ${users[0]?.user.token}` },
      })
      await answer.body.dump()
    },
  }
}

const timed = async <A>(work: () => Promise<A>): Promise<{ readonly ms: number; readonly result: A }> => {
  const from = performance.now()
  const result = await work()
  return { ms: performance.now() - from, result }
}

interface Times {
  readonly cold: readonly number[]
  readonly warm: readonly number[]
  readonly helm: readonly number[]
  /** The longest that the service's event loop stood still during a cold list. */
  readonly stillMs: readonly number[]
}

/** The same list in turn: ours when every record is new, ours again, and helm's own. */
const measure = async (input: RowInput, releases: number, revisions: number): Promise<Times> => {
  const { lab, bench, run } = input
  const rounds = run.quick ? 5 : 15
  bench.progress.doing(`filling a cluster with ${releases * revisions} release records`)
  const cluster = await startCluster(input, releases, revisions)
  const service = await lab.service({ name: `service for ${releases * revisions} records` })
  const user = await makeUser(service, 'bench-ada')
  const prefix = (await importCluster(service, user, 'releases', cluster.kubeconfig)).replace(
    /proxy$/,
    'helm/v3/releases',
  )
  const cli = makeHelmCli((await findHelm((line) => bench.progress.doing(line))).helm4, cluster.kubeconfig)
  const ask = async (path: string): Promise<string> => {
    const answer = await request(`${service.baseUrl}${path}`, { headers: { authorization: `Bearer ${user.token}` } })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}: ${text.slice(0, 300)}`)
    return text
  }
  const list = async (): Promise<void> => {
    const found = (JSON.parse(await ask(prefix)) as readonly unknown[]).length
    if (found !== releases) throw new Error(`${found} releases were listed, not ${releases}`)
  }
  const times = { cold: [] as number[], warm: [] as number[], helm: [] as number[], stillMs: [] as number[] }
  bench.progress.measuring(`listing ${releases} releases of ${releases * revisions} records`, rounds)
  // The first rounds compile; they are not counted.
  for (let round = -2; round < rounds; round += 1) {
    if (round >= 0) bench.progress.round(round + 1, rounds)
    await cluster.rewrite()
    await ask('/api/v1/bench/event-loop')
    const cold = (await timed(list)).ms
    const { max_ms: still } = JSON.parse(await ask('/api/v1/bench/event-loop')) as { readonly max_ms: number }
    const warm = (await timed(list)).ms
    const helm = (await timed(() => cli.must('list', '-A', '--max', '0', '-o', 'json'))).ms
    if (round < 0) continue
    times.cold.push(cold)
    times.stillMs.push(still)
    times.warm.push(warm)
    times.helm.push(helm)
  }
  cli.remove()
  await service.stop()
  return times
}

const linesOf = (row: string, what: string, times: Times): readonly BenchLine[] => {
  const line = (letter: string, state: string, ours: readonly number[], note: string): BenchLine => ({
    row: `${row}${letter}`,
    what: `${what}, ${state}`,
    ours: { perSecond: 1000 / median(ours) },
    against: 'helm 4 list -A',
    twin: { perSecond: 1000 / median(times.helm) },
    value: pairedRatio(times.helm, ours),
    bestValue: Math.min(...times.helm) / Math.min(...ours),
    unit: 'x',
    note,
  })
  const shown = (values: readonly number[]): string => `${median(values).toFixed(0)} ms`
  return [
    line(
      'a',
      'every record new',
      times.cold,
      `${shown(times.cold)} over HTTP, helm ${shown(times.helm)} with its start; the cluster is a stand-in in Node, which single reads cost more than one long list; the service's event loop stood still for at most ${Math.max(...times.stillMs).toFixed(0)} ms (median ${shown(times.stillMs)})`,
    ),
    line(
      'b',
      'asked again',
      times.warm,
      `${shown(times.warm)} over HTTP: the records are listed again as the caller, their contents are cached`,
    ),
  ]
}

/** Row 19: lists of releases beside helm's own, on one cluster. */
export const releaseLists: MeasureRow = async (input) => [
  ...linesOf('19', '200 releases', await measure(input, 200, 1)),
  ...linesOf('19+', '200 releases of 2,000 records', await measure(input, 200, 10)),
]
