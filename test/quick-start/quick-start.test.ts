// process: own - installs and starts the service
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { kubectl, kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { acceptSpoke, requestsOf } from '../support/hub/accept-spoke.ts'
import { managedClusters, managedClusterSets } from '../support/hub/api/kinds.ts'
import { clusterSetLabel } from '../support/hub/api/ocm-names.ts'
import { exampleCatalogue, writeCatalogue } from '../support/hub/example/feature-catalogue.ts'
import { startTestHub, type TestHub } from '../support/hub/test-hub.ts'
import { adminPassword } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { hubLines, quickStartBlocks, readmeBlocks, scriptOf } from './readme-commands.ts'

const run = promisify(execFile)
const test = needing('kubernetes', 'kubectl')

/** A hub with spokes, the set and the catalogue of `npm run test-hub`; the last spoke waits to be accepted. */
const startExampleHub = async (server: ControlPlaneAccess): Promise<TestHub> => {
  const hub = await startTestHub(server)
  await writeCatalogue(hub.client, exampleCatalogue)
  await hub.client.createIfMissing(managedClusterSets, { metadata: { name: hub.name('fleet') }, spec: {} })
  const first = hub.name('spoke-1')
  await hub.agent(first, {
    claims: {
      'id.k8s.io': randomUUID(),
      'cluster.ace.info': `clusterMetadata: {name: ${first}, clusterManagers: [OCMSpoke]}`,
    },
  })
  await acceptSpoke(hub.client, first)
  await hub.client.patch(
    managedClusters,
    { metadata: { name: first } },
    { metadata: { labels: { [clusterSetLabel]: hub.name('fleet') } } },
  )
  await hub.agent(hub.name('spoke-3'), { claims: { 'id.k8s.io': randomUUID() } })
  await until('the request of the spoke', async () =>
    (await requestsOf(hub.client, hub.name('spoke-3'))).length > 0 ? true : undefined,
  )
  return hub
}

test('the commands of the quick start and the README work on a real cluster', async (t) => {
  const cluster = await kubernetes()
  const kubectlPath = await kubectl()
  if (cluster === undefined || kubectlPath === undefined)
    return t.fail('the cluster and kubectl are there, or this case is skipped')
  const folder = await mkdtemp(join(tmpdir(), 'moorage-quick-start-'))
  const [service, hub] = await Promise.all([
    startServiceProcess({ settings: { MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback' } }),
    startExampleHub(cluster),
  ])
  try {
    const hubPath = join(folder, 'of-the-hub.kubeconfig')
    await writeFile(hubPath, hub.kubeconfig())
    const site = { BASE: `${service.baseUrl}/api/v1`, PASSWORD: adminPassword }
    const script = scriptOf(quickStartBlocks(), {
      ...site,
      KUBECONFIG_OF_THE_CLUSTER: cluster.adminKubeconfigPath,
    })
    const path = [dirname(process.execPath), dirname(kubectlPath), process.env['PATH'] ?? ''].join(delimiter)
    const afterwards = [
      // The hub is the same cluster, which one account has once.
      'curl -sSf -X POST -H "$ADMIN" $BASE/clustersv2/acme/prod/remove',
      `HUB='${hubPath}'`,
      hubLines((name) => hub.name(name)),
      scriptOf(readmeBlocks(), site),
    ]
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', [script, ...afterwards].join('\n')], {
      cwd: folder,
      env: { PATH: path, HOME: folder },
      maxBuffer: 16_000_000,
    })
    t.regex(stdout, /"login":"admin"/)
    t.regex(stdout, /"name":"Owners".*"name":"Editors".*"name":"Viewers"|"name":"Owners"/s)
    t.regex(stdout, /\{"objectType":"cluster","objectID":\d+,"allowedPermissions":\[[^\]]*"can_connect"/)
    t.regex(stdout, /"objectType":"organization","objectID":\d+,"allowedPermissions":\[[^\]]*"member"/)
    t.regex(stdout, /"name":"prod"[^]*"phase":"Active"/)
    t.regex(stdout, /^default +Active/m)
    t.regex(stdout, /configmap\/moorings created\nconfigmap\/moorings patched\nconfigmap "moorings" deleted/)
    t.regex(stdout, /^403$/m)
    t.regex(stdout, /"action":"role\.deleted"[^]*"action":"cluster\.imported"/)
    t.regex(stdout, /"name":"hub"[^]*"hubType":"OCM"/)
    t.regex(stdout, new RegExp(`"clusterSetName":"${hub.name('edge')}","clusterSetTitle":"","clusters":1`))
    t.regex(stdout, /"unservedClusters":\[\]/)
    t.regex(
      stdout,
      new RegExp(
        `"opscenter-core":\\{(?=[^]*"flux2":)[^]*"(?:insync|outOfSync)Clusters":\\["${hub.name('spoke-1')}"\\]`,
      ),
    )
    t.regex(stdout, /"username":"harbour"[^]*"action":"organization\.created"/)
    await until('the end of the spoke', async () =>
      (await hub.client.get(managedClusters, hub.name('spoke-3'))) === undefined ? true : undefined,
    )
  } finally {
    await service.stop()
    await hub.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the quick start names every step of the hour', (t) => {
  const text = quickStartBlocks().join('\n')
  for (const step of [
    'user/signin',
    'users/admin/tokens',
    '/orgs',
    'admin/users',
    'available_permissions',
    'allowed-permissions',
    'clustersv2/acme/import',
    'client-config',
    'kubectl',
  ]) {
    t.true(text.includes(step), step)
  }
})
