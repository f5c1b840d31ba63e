import type { ServerResponse } from 'node:http'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'

const answer = (res: ServerResponse, body: unknown, type = 'application/json'): void => {
  res.writeHead(200, { 'Content-Type': type })
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}

const metadata = (name: string, namespace?: string) => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  uid: `${namespace}-${name}`,
  creationTimestamp: '2026-11-20T08:00:00Z',
})

const deployment = (name: string, namespace: string, ready: number, replicas: number, image: string) => ({
  metadata: metadata(name, namespace),
  spec: { replicas, template: { spec: { containers: [{ name: 'main', image }] } } },
  status: { readyReplicas: ready },
})

/** A cluster with a few workloads, which answers garbage for services. */
export const startCluster = async (): Promise<FakeKubernetes> => {
  const cluster = await startFakeKubernetes()
  const list = (items: readonly unknown[]) => ({ apiVersion: 'v1', kind: 'List', metadata: {}, items })
  cluster.on('/api/v1/namespaces', (req, res) =>
    answer(
      res,
      req.url?.startsWith('/api/v1/namespaces/kube-system') === true
        ? { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid: cluster.uid } }
        : list(['default', 'shop'].map((name) => ({ metadata: metadata(name) }))),
    ),
  )
  const inShop = [
    deployment('web', 'shop', 3, 3, 'registry.example.com/shop/web:4.2.0'),
    deployment('checkout', 'shop', 1, 2, 'registry.example.com/shop/checkout:1.9.3'),
  ]
  const elsewhere = deployment('<img src=x onerror=alert(1)>', 'default', 1, 1, 'registry.example.com/tools:1.0.0')
  cluster.on('/apis/apps/v1/deployments', (_req, res) => answer(res, list([...inShop, elsewhere])))
  cluster.on('/apis/apps/v1/namespaces/shop/deployments', (_req, res) => answer(res, list(inShop)))
  cluster.on('/api/v1/namespaces/shop/pods', (_req, res) =>
    answer(
      res,
      list([
        {
          metadata: metadata('checkout-5f7c9', 'shop'),
          spec: { containers: [{ name: 'main', image: 'registry.example.com/shop/checkout:1.9.3' }] },
          status: { phase: 'Running' },
        },
      ]),
    ),
  )
  cluster.on('/api/v1/namespaces/shop/pods/checkout-5f7c9/log', (_req, res) =>
    answer(
      res,
      '2026-11-28T08:00:01Z listening on :8080\n2026-11-28T08:00:07Z payment accepted \u202e 42\n',
      'text/plain',
    ),
  )
  cluster.on('/api/v1/events', (_req, res) =>
    answer(
      res,
      list([
        {
          metadata: metadata('checkout.1', 'shop'),
          type: 'Warning',
          reason: 'BackOff',
          message: 'Back-off restarting failed container main',
          lastTimestamp: '2026-11-28T08:00:00Z',
          count: 7,
          involvedObject: { kind: 'Pod', name: 'checkout-5f7c9' },
        },
      ]),
    ),
  )
  cluster.on('/api/v1/services', (_req, res) => answer(res, 'no JSON at all'))
  return cluster
}
