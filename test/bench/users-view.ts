import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { startControlPlane } from '../support/components/control-plane.ts'
import { findKubectl } from '../support/components/kubectl.ts'
import { importCluster } from './api-calls.ts'
import { compare, generatorNote, ratioOf, readingOf, type Bench } from './measure.ts'
import type { Lab } from './lab.ts'
import { getRequest, loadOn } from './requests.ts'
import { note } from './rows/row.ts'
import type { StartedProcess } from './started-process.ts'
import type { BenchLine } from './table.ts'

const namespacePath = '/api/v1/namespaces/default'
const configMap = (name: string): string => `/api/v1/namespaces/default/configmaps/${name}`
const watchPath = '/api/v1/pods?watch=true'

interface Question {
  readonly what: string
  readonly path: string
  readonly connections: number
}

/** `kubectl proxy` and our proxy before the same cluster. */
interface Pair {
  readonly name: string
  readonly theirs: StartedProcess
  readonly prefix: string
}

const onRealCluster: readonly Question[] = [
  { what: 'one namespace, 1 client', path: namespacePath, connections: 1 },
  { what: 'one namespace, 16 clients', path: namespacePath, connections: 16 },
]
const onStubCluster: readonly Question[] = [
  { what: '2 KB, 32 clients', path: configMap('small'), connections: 32 },
  { what: '5 MB, 4 clients', path: configMap('large'), connections: 4 },
  { what: 'watches of 2 000 events, 8 clients', path: watchPath, connections: 8 },
]

/** What a person would use instead: `kubectl proxy` beside the service, same cluster, same client, in turn. */
export async function measureUsersView(lab: Lab, bench: Bench): Promise<readonly BenchLine[]> {
  const kubectl = await findKubectl((line) => bench.progress.doing(line))
  bench.progress.doing('starting kube-apiserver')
  const controlPlane = await startControlPlane((line) => bench.progress.doing(line))
  try {
    const { service, user, prefix } = await lab.proxied()
    const real = {
      ...(await kubectlProxy(lab, kubectl, 'kube-apiserver', controlPlane.kubeconfig())),
      prefix: await importCluster(service, user, 'real', controlPlane.kubeconfig()),
    }
    const stub = { ...(await kubectlProxy(lab, kubectl, 'stub cluster', (await lab.stubCluster()).kubeconfig)), prefix }
    const lines: BenchLine[] = []
    for (const question of onRealCluster) lines.push(await measure(lab, bench, real, question))
    for (const question of onStubCluster) lines.push(await measure(lab, bench, stub, question))
    return lines
  } finally {
    await controlPlane.stop()
  }
}

const kubectlProxy = async (
  lab: Lab,
  kubectl: string,
  name: string,
  kubeconfig: string,
): Promise<Omit<Pair, 'prefix'>> => {
  const file = join(lab.folder, `${name.replaceAll(' ', '-')}.kubeconfig`)
  await writeFile(file, kubeconfig, { mode: 0o600 })
  const theirs = await lab.program({
    name: `kubectl proxy before the ${name}`,
    program: kubectl,
    arguments: ['proxy', '--port=0', '--reject-paths=^$', `--kubeconfig=${file}`],
    portOf: (line) => {
      const found = /127\.0\.0\.1:(\d+)/.exec(line)
      return found === null ? undefined : Number(found[1])
    },
  })
  return { name, theirs }
}

const measure = async (
  lab: Lab,
  bench: Bench,
  { name, theirs, prefix }: Pair,
  question: Question,
): Promise<BenchLine> => {
  const { service, user } = await lab.onSqlite()
  const { ours, twin } = await compare(bench, `${name}: ${question.what}`, {
    ours: {
      target: loadOn(
        `ours ${question.what}`,
        service.port,
        getRequest(prefix + question.path, user.token),
        question.connections,
      ),
      pid: service.pid,
    },
    twin: {
      target: loadOn(`kubectl ${question.what}`, theirs.port, getRequest(question.path), question.connections),
      pid: theirs.pid,
    },
  })
  return {
    row: '',
    what: `${name}: ${question.what}`,
    ours: readingOf(ours),
    against: 'kubectl proxy',
    twin: readingOf(twin),
    ...ratioOf(ours, twin),
    unit: 'x',
    ...note(generatorNote(ours, twin)),
  }
}
