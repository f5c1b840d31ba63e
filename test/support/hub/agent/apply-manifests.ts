import {
  appliedManifestWorks,
  namespaces,
  type AppliedManifestWork,
  type Kind,
  type KubeObject,
  type Manifest,
} from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'
import type { Features } from './spoke-features.ts'
import { whyForbidden } from './work-rights.ts'

interface Resources {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

/**
 * Creates or changes an object of a ManifestWork on the spoke, as the work agent does, and makes HelmReleases as ready
 * as they are to be. Returns why the agent may not; undefined if it may.
 */
export const applyManifest = async (
  spoke: KubeClient,
  manifest: Manifest,
  owner: AppliedManifestWork,
  features: Features,
): Promise<string | undefined> => {
  const kind = await kindOf(spoke, manifest)
  const forbidden = await whyForbidden(spoke, { kind }, manifest)
  if (forbidden !== undefined) return forbidden
  const { namespace, labels, name } = manifest.metadata
  if (kind.isNamespaced && namespace !== undefined)
    await spoke.createIfMissing(namespaces, { metadata: { name: namespace } })
  const ownerReferences = [
    {
      apiVersion: appliedManifestWorks.apiVersion,
      kind: appliedManifestWorks.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid ?? '',
    },
  ]
  await spoke.patch(
    kind,
    manifest,
    { ...manifest, metadata: { ...manifest.metadata, ownerReferences } },
    { applyAs: 'work-agent' },
  )
  if (manifest.kind !== 'HelmRelease') return undefined
  const status = features.isReady(labels?.['app.kubernetes.io/component'] ?? name) ? 'True' : 'False'
  const conditions = ['Ready', 'Released'].map((type) => ({
    type,
    status,
    reason: status === 'True' ? 'InstallSucceeded' : 'InstallFailed',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }))
  await spoke.patch(kind, manifest, { status: { conditions } }, { subresource: 'status' })
  return undefined
}

/** Removes what `applyManifest` has made. */
export const removeManifest = async (spoke: KubeClient, manifest: Manifest): Promise<void> =>
  spoke.remove(await kindOf(spoke, manifest), manifest)

const kindOf = async (spoke: KubeClient, { apiVersion = 'v1', kind = '' }: Manifest): Promise<Kind<KubeObject>> => {
  const { resources } = await spoke.call<Resources>(
    'GET',
    `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}`,
  )
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'))
  if (found === undefined) throw new Error(`the spoke does not serve ${apiVersion} ${kind}`)
  return { apiVersion, kind, plural: found.name, isNamespaced: found.namespaced }
}
