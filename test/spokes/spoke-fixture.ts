import { randomBytes } from 'node:crypto'
import type { ExecutionContext } from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { installHubCrds } from '../support/hub/install-hub-crds.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

export const clusterApi = '/apis/cluster.open-cluster-management.io/v1/managedclusters'
export const signingApi = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

/**
 * A service with an organization whose hub is the shared kube-apiserver. Names are random: other files use the same
 * server.
 */
export interface SpokeFixture {
  readonly cluster: ControlPlaneAccess
  readonly service: TestService
  readonly people: ReturnType<typeof makePeople>
  readonly owner: Person
  readonly org: string
  readonly name: (prefix?: string) => string
  /** One request to the hub as its admin, which must succeed. Returns the body. */
  readonly must: (
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ) => Promise<Record<string, unknown>>
  readonly plantCluster: (
    name: string,
    changes?: { readonly metadata?: object; readonly spec?: object },
  ) => Promise<void>
  readonly get: (route: string, person?: Person, at?: string) => Promise<ServiceAnswer>
  readonly post: (route: string, body: unknown, person?: Person, at?: string) => Promise<ServiceAnswer>
  /** The rows of the organization's audit log of this action, with their changes. */
  readonly audited: (
    action: string,
  ) => Promise<readonly { readonly object_name: string; readonly changes: Readonly<Record<string, unknown>> }[]>
}

export const startSpokeFixture = async (): Promise<SpokeFixture> => {
  const cluster = (await kubernetes())!
  await installHubCrds(cluster)
  const service = await startService()
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', cluster.kubeconfig()), 200)
  const must: SpokeFixture['must'] = async (method, path, body, contentType) => {
    const answer = await cluster.request(method, path, body, contentType === undefined ? {} : { contentType })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer.body as Record<string, unknown>
  }
  return {
    cluster,
    service,
    people,
    owner,
    org,
    must,
    name: (prefix = 'spoke') => `${prefix}-${randomBytes(5).toString('hex')}`,
    plantCluster: async (name, { metadata = {}, spec = {} } = {}) => {
      await must('POST', clusterApi, {
        apiVersion: 'cluster.open-cluster-management.io/v1',
        kind: 'ManagedCluster',
        metadata: { name, ...metadata },
        spec: { hubAcceptsClient: false, ...spec },
      })
    },
    get: (route, person = owner, at = `${org}/hub`) =>
      service.send('GET', `/api/v1/clusters/${at}/${route}`, { token: person.token }),
    post: (route, body, person = owner, at = `${org}/hub`) =>
      service.send('POST', `/api/v1/clusters/${at}/${route}`, { token: person.token, body }),
    audited: async (action) => {
      const log = await expectStatus(
        service.send('GET', `/api/v1/orgs/${org}/audit?limit=100&action=${action}`, { token: owner.token }),
        200,
      )
      return (log.json as { action: string; object_name: string; changes: Record<string, unknown> }[]).filter(
        (row) => row.action === action,
      )
    },
  }
}

/**
 * Members of the organization who hold only these permissions of `cluster_mgmt`, and a stranger with an organization.
 */
export const makeMembers = async (
  { people, owner, org }: SpokeFixture,
  permissions: Readonly<Record<string, readonly string[]>>,
) => {
  const members = new Map<string, Person>()
  for (const [name, actions] of Object.entries(permissions)) {
    const person = await people.person(name)
    await people.teamWithRole(
      owner,
      org,
      [person],
      actions.map((action) => ({ namespace: 'cluster_mgmt', action })),
    )
    members.set(name, person)
  }
  const stranger = await people.person('stranger')
  await people.organization(stranger)
  return (name: string): Person => (name === 'stranger' ? stranger : members.get(name)!)
}

export const statusOf = async (
  t: ExecutionContext,
  answer: Promise<ServiceAnswer>,
  status: number,
  code?: string,
): Promise<ServiceAnswer> => {
  const got = await answer
  t.is(got.status, status, got.text)
  if (code !== undefined) t.is(got.json.code, code, got.text)
  return got
}
