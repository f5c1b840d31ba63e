import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { spokeControlPlane } from '../components/spoke-control-plane.ts'
import { startControlPlane } from '../components/control-plane.ts'
import { withProgress, type Say } from '../components/progress.ts'
import { acceptSpoke } from './accept-spoke.ts'
import { managedClusters, managedClusterSets } from './api/kinds.ts'
import { clusterSetLabel } from './api/ocm-names.ts'
import { issueTokens } from './control-plane/fill-token-secrets.ts'
import { exampleCatalogue, writeCatalogue } from './example/feature-catalogue.ts'
import { fillHub } from './example/fill-hub.ts'
import { hubHelpText, parseHubArguments, type HubArguments } from './example/hub-arguments.ts'
import { hubText } from './example/hub-text.ts'
import { startTestHub, type TestHub } from './test-hub.ts'

const say: Say = (line) => {
  process.stderr.write(`${line}\n`)
}
const exampleSet = 'fleet'

try {
  process.exit(await main(process.argv.slice(2)))
} catch (cause) {
  // Mostly a component that this machine lacks: the sentence says which.
  say(`The test hub cannot start. ${cause instanceof Error ? cause.message : String(cause)}`)
  process.exit(1)
}

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseHubArguments(args)
  if (parsed.kind === 'help') {
    process.stdout.write(hubHelpText)
    return 0
  }
  if (parsed.kind === 'refused') {
    process.stderr.write(`${parsed.reason}\n`)
    return 2
  }
  // Until everything runs, a signal ends the process, and the exit hooks of the components end them.
  const leave = (): void => process.exit(130)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, leave)
  const server = await withProgress(say, 'kube-apiserver of the hub', () => startControlPlane(say))
  const spokes = await spokeControlPlane(server, say)
  const hasWebhooks = !parsed.run.isOpen
  const hub = await startTestHub(server, {
    prefix: '',
    spokes,
    gateway: true,
    webhooks: hasWebhooks,
    defaultClusterSet: hasWebhooks,
    servesAccount: () => true,
    klusterletAgents: { appliesManifests: true },
  })
  const tokens = issueTokens(hub.spoke, () => true)
  const names = await withProgress(say, 'example spokes', () => startExample(hub, parsed.run))
  const ended = new Promise<void>((go) => {
    for (const signal of signals) process.once(signal, () => go())
  })
  for (const signal of signals) process.off(signal, leave)
  const hubPath = join(dirname(server.adminKubeconfigPath), 'hub.kubeconfig')
  await writeFile(hubPath, hub.kubeconfig(), { mode: 0o600 })
  process.stdout.write(
    hubText({ hub: hubPath, spoke: spokes.adminKubeconfigPath, names, clusters: parsed.run.clusters, set: exampleSet }),
  )
  await ended
  say('stopping')
  await tokens.stop()
  await hub.stop()
  await server.stop()
  return 0
}

/** Spokes with agents, all but the last of them accepted and in a set. Returns their names. */
async function startExample(hub: TestHub, { spokes, clusters }: HubArguments): Promise<readonly string[]> {
  const { client } = hub
  await writeCatalogue(client, exampleCatalogue)
  await client.createIfMissing(managedClusterSets, { metadata: { name: exampleSet }, spec: {} })
  const names = Array.from({ length: spokes }, (_, index) => `spoke-${index + 1}`)
  // They share one API server, so each claims a UID of its own.
  for (const name of names) {
    const uid = randomUUID()
    await hub.agent(name, {
      claims: {
        'id.k8s.io': uid,
        'cluster.ace.info': `clusterMetadata: {uid: ${uid}, name: ${name}, clusterManagers: [OCMSpoke]}`,
      },
    })
  }
  await Promise.all(
    names.slice(0, -1).map(async (name) => {
      await acceptSpoke(client, name)
      await client.patch(
        managedClusters,
        { metadata: { name } },
        { metadata: { labels: { [clusterSetLabel]: exampleSet } } },
      )
    }),
  )
  if (clusters > 0)
    await withProgress(say, `${clusters} clusters`, () =>
      fillHub(client, { prefix: '', clusters, sets: 50, features: 200 }),
    )
  return names
}
