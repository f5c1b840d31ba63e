import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { expectStatus, importCluster, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'

/**
 * A service with an organization that has a cluster, a member who may connect, one who may only look, and an outsider
 * with an organization of the own.
 */
export const openReadsFixture = async () => {
  const [fake, service] = await Promise.all([startFakeApi({ progresses: false }), startService()])
  const people = makePeople(service)
  const owner = await people.person('owner')
  const member = await people.person('member')
  const viewer = await people.person('viewer')
  const stranger = await people.person('stranger')
  const org = await people.organization(owner)
  const otherOrg = await people.organization(stranger)
  const may = (...actions: readonly string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [member], may('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [viewer], may('view clusters'))
  await expectStatus(
    importCluster(service.send, owner.token, org, 'prod', fake.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const helm = `/api/v1/clusters/${org}/prod/helm`
  return {
    fake,
    service,
    people,
    owner,
    member,
    viewer,
    stranger,
    org,
    otherOrg,
    helm,
    get: (path: string, person: Person = owner, body?: unknown): Promise<ServiceAnswer> =>
      service.send('GET', `${helm}${path}`, { token: person.token, ...(body === undefined ? {} : { body }) }),
    stop: async () => {
      await service.stop()
      await fake.stop()
    },
  }
}
export type ReadsFixture = Awaited<ReturnType<typeof openReadsFixture>>
