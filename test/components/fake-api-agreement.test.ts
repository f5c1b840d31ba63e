import { kubernetes } from '../support/components/available.ts'
import type { KubernetesAnswer } from '../support/components/control-plane-access.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeApi } from '../support/fake-api.ts'
import { isTree, type Tree } from '../support/fake-api/kube-object.ts'

const test = needing('kubernetes')

type Ask = (method: string, path: string, body?: unknown, contentType?: string) => Promise<KubernetesAnswer>

/** What a client goes by, without what differs from one cluster to the next: ids, times, versions, who manages which field. */
const essence = ({ status, body }: KubernetesAnswer): unknown => {
  if (!isTree(body)) return { status, text: typeof body }
  const { kind, apiVersion, reason, message, items } = body
  const told = { status, kind, apiVersion, ...(reason === undefined ? {} : { reason, message }) }
  if (Array.isArray(items)) return { ...told, items: items.map((item) => (isTree(item) ? { kind: item['kind'], apiVersion: item['apiVersion'], ...content(item) } : item)) }
  if (items === null) return { ...told, items }
  return kind === 'Status' ? told : { ...told, content: content(body) }
}

const content = (object: Tree): Tree => {
  const metadata = isTree(object['metadata']) ? object['metadata'] : {}
  const { name, labels, annotations } = metadata
  return { name, labels, annotations, data: object['data'], type: object['type'] }
}

const merge = 'application/merge-patch+json'
const strategic = 'application/strategic-merge-patch+json'
const apply = 'application/apply-patch+yaml'
const patch = 'application/json-patch+json'

/** Method, path below the namespace, body, content type: in this order on both. */
const script: readonly (readonly [string, string, unknown?, string?])[] = [
  ['GET', '/configmaps'],
  ['POST', '/configmaps', { metadata: { name: 'berth', labels: { owner: 'helm', size: 'l' } }, data: { depth: '12', wind: 'west' } }],
  ['POST', '/configmaps', { metadata: { name: 'berth' } }],
  ['POST', '/configmaps', { metadata: { name: 'Not A Name' } }],
  ['GET', '/configmaps/berth'],
  ['GET', '/configmaps/none'],
  ['PATCH', '/configmaps/berth', { data: { depth: '13', wind: null } }, merge],
  ['PATCH', '/configmaps/berth', { metadata: { annotations: { seen: 'yes' } } }, strategic],
  ['PATCH', '/configmaps/berth', [{ op: 'replace', path: '/data/depth', value: '14' }], patch],
  ['PATCH', '/configmaps/none', { data: {} }, merge],
  ['PATCH', '/configmaps/berth', { data: {}, metadata: { resourceVersion: '1' } }, merge],
  ['PUT', '/configmaps/berth', { metadata: { name: 'berth', resourceVersion: '1' } }],
  ['PATCH', '/configmaps/applied?fieldManager=helm', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '1', b: '2' } }, apply],
  ['PATCH', '/configmaps/applied?fieldManager=other', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { c: '3' } }, apply],
  ['PATCH', '/configmaps/applied?fieldManager=helm', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '9' } }, apply],
  ['GET', '/configmaps/applied'],
  ['POST', '/configmaps?dryRun=All', { metadata: { name: 'tried' } }],
  ['GET', '/configmaps/tried'],
  ['POST', '/secrets', { metadata: { name: 'key', labels: { owner: 'helm' } }, type: 'helm.sh/release.v1', stringData: { release: 'text' } }],
  ['GET', '/secrets?labelSelector=owner%3Dhelm'],
  ['GET', '/secrets?labelSelector=owner%21%3Dhelm'],
  ['GET', '/configmaps?labelSelector=owner%20in%20(helm,flux),size'],
  ['GET', '/configmaps?labelSelector=%21size'],
  ['GET', '/configmaps?fieldSelector=metadata.name%3Dberth'],
  ['DELETE', '/configmaps/berth'],
  ['DELETE', '/configmaps/berth'],
  ['DELETE', '/configmaps?labelSelector=none%3Dsuch'],
  ['GET', '/deployments'],
]

const run = async (ask: Ask, namespace: string): Promise<readonly unknown[]> => {
  const told: unknown[] = []
  for (const [method, path, body, contentType] of script) {
    const root = path.startsWith('/deployments') ? '/apis/apps/v1' : '/api/v1'
    const answer = await ask(method, `${root}/namespaces/${namespace}${path}`, body, contentType)
    const text = JSON.stringify(essence(answer)).replaceAll(namespace, 'NAMESPACE')
    told.push({ asked: `${method} ${path}`, ...(JSON.parse(text) as object) })
  }
  return told
}

/** A list of a real namespace also has what its controllers put there. */
const withoutOwn = (told: readonly unknown[]): readonly unknown[] =>
  told.map((answer) => (isTree(answer) && Array.isArray(answer['items']) ? { ...answer, items: answer['items'].filter((item) => !isTree(item) || item['name'] !== 'kube-root-ca.crt') } : answer))

/** The words in which a bad name or patch is refused are the server's own. */
const withoutReasons = (told: readonly unknown[]): readonly unknown[] =>
  told.map((answer) => (isTree(answer) && answer['reason'] === 'Invalid' ? { ...answer, message: String(answer['message']).slice(0, 40) } : answer))

test('the API in this process answers as a real kube-apiserver does', async (t) => {
  const server = (await kubernetes())!
  const api = await startFakeApi()
  t.teardown(() => api.stop())
  const namespace = await server.createNamespace('agree')
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const real = await run((method, path, body, contentType) => server.request(method, path, body, contentType === undefined ? {} : { contentType }), namespace)
  const fake = await run((method, path, body, contentType) => api.request(method, path, body, contentType === undefined ? {} : { contentType }), namespace)
  t.deepEqual(withoutReasons(withoutOwn(fake)), withoutReasons(withoutOwn(real)))
})
