import { pack } from '../../adapters/helm/records/record-payload.ts'
import type { FakeKubernetes } from './fake-kubernetes.ts'

/** Has a cluster keep one Helm release, `web` in the namespace `shop`, whose description is this. */
export const serveRelease = async (fake: FakeKubernetes, description: string): Promise<void> => {
  const release = {
    name: 'web',
    namespace: 'shop',
    version: 1,
    manifest: '',
    info: {
      first_deployed: '2026-05-01T08:00:00Z',
      last_deployed: '2026-05-01T08:00:00Z',
      deleted: '',
      description,
      status: 'deployed',
    },
    chart: { metadata: { name: 'web', version: '1.0.0', apiVersion: 'v2' }, templates: [], values: {} },
  }
  const name = 'sh.helm.release.v1.web.v1'
  const metadata = {
    name,
    namespace: 'shop',
    uid: `release of ${fake.uid}`,
    resourceVersion: '1',
    labels: { name: 'web', owner: 'helm', status: 'deployed', version: '1' },
  }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'helm.sh/release.v1',
    data: { release: await pack('Secret', JSON.stringify(release)) },
  }
  const answer = (path: string, body: object): void =>
    fake.on(path, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(body))
    })
  const listOf = (items: readonly object[]): object => ({
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {},
    items,
  })
  const list = listOf([{ metadata }])
  // A list of a namespace that does not exist is empty, as of the real API server. Generated requests name this one.
  answer('/api/v1/namespaces/true/secrets', listOf([]))
  answer('/api/v1/secrets', list)
  answer('/api/v1/namespaces/shop/secrets', list)
  answer(`/api/v1/namespaces/shop/secrets/${name}`, secret)
}
