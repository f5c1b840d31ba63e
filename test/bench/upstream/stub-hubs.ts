import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { announce, given } from '../twins/ready.ts'

// Many hubs below paths of one server: `/hub-0`, `/hub-1` and so on. The last of them answer surveys and no lists.

const { certificate, key, hubs, silent } = given<{ certificate: string; key: string; hubs: number; silent: number }>()
const ocm = 'cluster.open-cluster-management.io'

const discovery: Readonly<Record<string, unknown>> = {
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [{ name: ocm }] },
  '/apis/apps/v1': {
    kind: 'APIResourceList',
    groupVersion: 'apps/v1',
    resources: [{ name: 'deployments', kind: 'Deployment' }],
  },
  [`/apis/${ocm}/v1`]: {
    kind: 'APIResourceList',
    groupVersion: `${ocm}/v1`,
    resources: [{ name: 'managedclusters', kind: 'ManagedCluster' }],
  },
  '/readyz': 'ok',
}

const reply = (res: ServerResponse, body: unknown): void => {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}

const answer = (req: IncomingMessage, res: ServerResponse): void => {
  const [, name = '', path = ''] = /^\/hub-(\d+)(\/[^?]*)/.exec(req.url ?? '') ?? []
  const hub = Number(name)
  if (path === '/api/v1/namespaces/kube-system')
    return reply(res, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'kube-system', uid: `beac4000-0000-4000-8000-${String(hub).padStart(12, '0')}` },
    })
  if (discovery[path] !== undefined) return reply(res, discovery[path])
  const isSilent = hub >= hubs - silent && path.startsWith('/apis/')
  if (!isSilent)
    reply(res, {
      kind: 'List',
      apiVersion: 'v1',
      metadata: { continue: 'more', remainingItemCount: hub + 6 },
      items: [{ metadata: { name: 'first' } }],
    })
}

announce(createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, answer))
