import test from 'ava'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import { bucketsFromSecretCases, type MemberCluster } from './buckets-from-secret-cases.ts'

const status = (code: number, reason: string): string => JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code })

/** The fake API server with secrets, which it shows to whom they are opened to, by the name that is impersonated. */
const fakeMember = async (): Promise<MemberCluster> => {
  const fake = await startFakeKubernetes()
  const secrets = new Map<string, Readonly<Record<string, string>>>()
  const readers = new Set<string>()
  let namespaces = 0
  fake.on('/api/v1/namespaces/', (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    const [, namespace = '', name = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/.exec(path) ?? []
    const user = String(req.headers['impersonate-user'] ?? 'nobody')
    const data = secrets.get(`${namespace}/${name}`)
    const answer = (code: number, body: string): void => {
      res.writeHead(code, { 'content-type': 'application/json' })
      res.end(body)
    }
    if (path === '/api/v1/namespaces/kube-system') return answer(200, JSON.stringify({ kind: 'Namespace', metadata: { name: 'kube-system', uid: fake.uid } }))
    if (!readers.has(`${namespace} ${user}`)) return answer(403, status(403, 'Forbidden'))
    if (data === undefined) return answer(404, status(404, 'NotFound'))
    answer(200, JSON.stringify({ kind: 'Secret', apiVersion: 'v1', metadata: { name, namespace }, data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])) }))
  })
  return {
    kubeconfig: () => fake.kubeconfig(),
    createNamespace: async () => `vault-${(namespaces += 1)}`,
    putSecret: async (namespace, name, data) => void secrets.set(`${namespace}/${name}`, data),
    letRead: async (namespace, user) => void readers.add(`${namespace} ${user}`),
    stop: () => fake.stop(),
  }
}

bucketsFromSecretCases(test, 'fake', fakeMember)
