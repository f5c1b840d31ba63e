import type { ControlPlaneAccess } from '../components/control-plane-access.ts'

const namespace = 'open-cluster-management-addon'
const plural = `/apis/work.open-cluster-management.io/v1alpha1/namespaces/${namespace}/manifestworkreplicasets`

/** Where a hub has what brings the bootstrap of the suite to spokes. */
export const bootstrapWorkPath = (name: string): string => `${plural}/${name}`

/**
 * Makes what brings the bootstrap of the suite to every spoke, without contents. The charts of the distribution make
 * it on a real hub. Several test files may do so at once.
 */
export const makeBootstrapWorks = async ({ request }: Pick<ControlPlaneAccess, 'request'>): Promise<void> => {
  await request('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const rolloutStrategy = { type: 'All' }
  const spec = {
    manifestWorkTemplate: { workload: { manifests: [] } },
    placementRefs: [{ name: 'global', rolloutStrategy }],
  }
  for (const name of ['ace-namespace', 'ace-bootstrap']) {
    await request('POST', plural, {
      apiVersion: 'work.open-cluster-management.io/v1alpha1',
      kind: 'ManifestWorkReplicaSet',
      metadata: { name, namespace },
      spec,
    })
    const made = await request('GET', bootstrapWorkPath(name))
    if (made.status !== 200) throw new Error(`${name} was not made: ${JSON.stringify(made)}`)
  }
}
