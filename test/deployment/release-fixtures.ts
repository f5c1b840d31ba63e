import { randomUUID } from 'node:crypto'
import { adminLogin } from '../support/service.ts'
import type { Send } from './two-releases.ts'
import { basic } from './two-releases.ts'
import { contractTerms } from '../support/plant-contract.ts'

/** What a fixture left: writes that failed, and the paths that tell what was written. */
export interface Fixture {
  readonly failures: readonly string[]
  readonly reads: readonly string[]
}

const makeMust =
  (next: () => Send, failures: string[]): Send =>
  async (method, path, body, authorization) => {
    const answer = await next()(method, path, body, authorization)
    const refused = JSON.stringify(answer.json).includes('"result":"refused"')
    if (answer.status >= 300 || refused)
      failures.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`)
    return answer
  }

/** People, organizations, access, clusters. */
const writeAccess = async (n: number, must: Send, kubeconfig: string): Promise<void> => {
  const [user, org] = [`u${n}`, `o${n}`]
  const person = { username: user, email: `${user}@example.com`, password: 'quiet-harbour-lantern-7' }
  await must('POST', '/admin/users', { ...person, must_change_password: false })
  await must('PATCH', `/admin/users/${user}`, { full_name: `Häfen ${n}`, email: `${user}@example.org` })
  await must('POST', '/orgs', { username: org })
  await must('PATCH', `/orgs/${org}`, { description: `harbour ${n} 😀`, website: 'https://example.com' })
  const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
  await must('POST', `/authz/roles?org=${org}`, { name: `role ${n}`, description: '', permissions })
  const team = await must('POST', `/orgs/${org}/teams`, { name: `team-${n}`, description: 'first', permission: 'read' })
  await must('PUT', `/teams/${team.json.id}/members/${user}`)
  await must('PATCH', `/teams/${team.json.id}`, { name: `team-${n}`, description: 'second', permission: 'read' })
  await must('PUT', `/user/following/${user}`)
  await must('POST', `/users/${adminLogin}/tokens`, { name: `token ${n}`, scopes: ['read:cluster'] }, basic)
  await must('POST', '/user/emails', { emails: [`admin-${n}@example.net`] })
  await must('PATCH', '/user/settings', { full_name: `Admin ${n}` })
  await must('POST', `/clustersv2/${org}/import`, {
    basicInfo: { name: 'pier', displayName: `Pier ${n}` },
    provider: { accessConfig: kubeconfig },
  })
  await must('GET', `/clusters/${org}/pier/client-config`)
  await must('POST', '/orgs', { username: `gone-${n}` })
  await must('DELETE', `/orgs/gone-${n}`)
  await must('DELETE', `/user/emails`, { emails: [`admin-${n}@example.net`] })
}

const accessReads = (n: number): readonly string[] => [
  `/users/u${n}`,
  `/users/u${n}/orgs`,
  `/orgs/o${n}`,
  `/orgs/o${n}/teams`,
  `/orgs/o${n}/members`,
  `/orgs/o${n}/audit`,
  `/authz/roles?org=o${n}`,
  `/clustersv2/o${n}`,
  `/clusters/o${n}/pier`,
]
export const commonReads = [
  '/user',
  '/user/settings',
  '/user/emails',
  '/user/orgs',
  '/admin/users',
  '/admin/audit',
  '/user/following',
]

/** Contracts, with their clusters, documents and licenses, and the usage that they count. */
const writeContracts = async (n: number, must: Send, clusterUid: string): Promise<readonly string[]> => {
  const org = `o${n}`
  const terms = contractTerms(org, `Häfen ${n}`, { fixture: n })
  const made = await must('POST', '/contracts', terms)
  const id = String(made.json[0]?.id)
  await must('PUT', `/contracts/${id}`, { name: `Häfen ${n} 😀`, autoAssignCluster: n % 3 === 0 })
  await must('POST', `/contracts/${id}/extend`, { end: terms.end + 30 * 86_400 })
  const bound = await must('POST', `/contracts/${id}/clusters`, [
    { cluster: clusterUid, displayName: `pier ${n}`, tags: ['eu'] },
  ])
  const cluster = `/contracts/${id}/clusters/${String(bound.json[0]?.id)}`
  await must('PATCH', `${cluster}/name`, { clusterName: `quay ${n}` })
  await must('PATCH', `${cluster}/tags`, { tags: ['eu', 'prod'] })
  const document = Buffer.from('%PDF-1.7\n%%EOF\n').toString('base64')
  await must('PUT', `/contracts/${id}/document`, { document, fileName: `terms ${n}.pdf` })
  for (let license = 0; license < 2; license++) await must('POST', `${cluster}/issue-license`)
  const licenses = await must('GET', `/contracts/${id}/licenses`)
  await must('POST', `/contracts/${id}/licenses/${String(licenses.json[0]?.serial)}/revoke`)
  const ended = await must('POST', '/contracts', { ...terms, name: `ended ${n}` })
  const endedId = String(ended.json[0]?.id)
  await must('POST', `/contracts/${endedId}/revoke`)
  const of = (contract: string) =>
    ['', '/audit', '/terms', '/clusters', '/licenses'].map((path) => `/contracts/${contract}${path}`)
  return [...of(id), ...of(endedId), `/user/contracts?org=${org}`]
}

const writeUsage = async (n: number, must: Send, clusterUid: string): Promise<readonly string[]> => {
  const org = `o${n}`
  const at = (hoursAgo: number): string => new Date(Date.now() - hoursAgo * 3_600_000).toISOString()
  const object = {
    product: 'dbProduct',
    group: 'kubedb.com',
    kind: 'Postgres',
    uid: randomUUID(),
    namespace: 'shop',
    namespaceUID: randomUUID(),
    name: `orders-${n}`,
  }
  const event = (type: string, hoursAgo: number, more: object) => ({
    id: randomUUID(),
    type,
    time: at(hoursAgo),
    ...more,
  })
  const created = { ...object, generation: 1, createdAt: at(30), milliCPU: 500, memoryMiB: 1024, replicas: 1 }
  const observed = {
    namespace: 'shop',
    namespaceUID: object.namespaceUID,
    createdAt: at(40),
    labels: { fixture: `${n}` },
  }
  // A report that is repeated at the other release is the same report.
  const first = [event('object.created', 30, created), event('namespace.observed', 30, observed)]
  const events = [
    first,
    first,
    [event('object.resized', 20, { ...created, generation: 2, milliCPU: 1000, replicas: 3 })],
    [event('cluster.heartbeat', 10, {})],
    [event('object.deleted', 5, { ...object, generation: 2, createdAt: created.createdAt })],
  ]
  for (const each of events) await must('POST', `/usage/${org}/events`, { clusterUID: clusterUid, events: each })
  const [start, end] = [at(60 + n), at(59 + n)].map((time) => `${time.slice(0, 19)}Z`)
  await must('POST', '/dashboard/system-outages', { start, end, accountName: org, tags: [`world-${n}`], comments: 'ü' })
  return [
    `/dashboard/summary/refused-events?org=${org}`,
    `/dashboard/summary/running-month?org=${org}`,
    `/dashboard/system-outages/report?accountName=${org}`,
  ]
}

/** All kinds of writes of a vendor, in one fixture of the number `n`. Each is sent by the next of the two releases. */
export const writeVendorFixture = async (
  n: number,
  next: () => Send,
  kubernetes: { readonly uid: string; kubeconfig(): string },
): Promise<Fixture> => {
  const failures: string[] = []
  const must = makeMust(next, failures)
  await writeAccess(n, must, kubernetes.kubeconfig())
  const contracts = await writeContracts(n, must, kubernetes.uid)
  const usage = await writeUsage(n, must, kubernetes.uid)
  return { failures, reads: [...accessReads(n), ...contracts, ...usage] }
}
