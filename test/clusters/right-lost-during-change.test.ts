import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import { listOwnerClusters } from '../../plugins/clusters/clusters.routes.ts'
import { clientAs, valueOf } from '../support/client-as.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { Person } from './cluster-fixture.ts'
import { expectStatus, importCluster, makePeople } from './cluster-fixture.ts'

/** A cluster that answers slowly must not carry its owner over the moment in which they are shut out. */
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service.stop())

/** An organization with two owners, and a cluster whose look lasts until it is told to end. */
const makeFixture = async (): Promise<{
  fake: FakeKubernetes
  keeper: Person
  leaver: Person
  org: string
  hold: () => { reached: () => boolean; release: () => void }
}> => {
  const people = makePeople(service)
  const [keeper, leaver] = [await people.person('keeper'), await people.person('leaver')]
  const org = await people.organization(keeper)
  await expectStatus(
    service.send('PUT', `/api/v1/orgs/${org}/memberships/${leaver.login}`, {
      token: keeper.token,
      body: { role: 'owner' },
    }),
    200,
  )
  const fake = await startFakeKubernetes()
  const hold = () => {
    const waiting: (() => void)[] = []
    fake.on('/version', (_req, res) => {
      waiting.push(() => {
        res.writeHead(200, { 'content-type': 'application/json' })
        res.end('{"gitVersion":"v1.34.2"}')
      })
    })
    return { reached: () => waiting.length > 0, release: () => waiting.forEach((answer) => answer()) }
  }
  return { fake, keeper, leaver, org, hold }
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await sleep(20)
}

test('an import by a member who is removed during it records nothing', async (t) => {
  const { fake, keeper, leaver, org, hold } = await makeFixture()
  t.teardown(() => fake.stop())
  const { reached, release } = hold()
  const imported = importCluster(service.send, leaver.token, org, 'planted', fake.kubeconfig())
  await until(reached)
  await expectStatus(
    service.send('DELETE', `/api/v1/orgs/${org}/members/${leaver.login}`, { token: keeper.token }),
    204,
  )
  release()
  t.is((await imported).status, 403)
  t.deepEqual(await valueOf(clientAs(service, keeper).call(listOwnerClusters, { params: { owner: org } })), {
    items: [],
    total: 0,
  })
})

test('nor does a new access config by such a one replace the old', async (t) => {
  const { fake, keeper, leaver, org, hold } = await makeFixture()
  t.teardown(() => fake.stop())
  await expectStatus(importCluster(service.send, keeper.token, org, 'prod', fake.kubeconfig()), 200)
  const { reached, release } = hold()
  const changed = service.send('POST', `/api/v1/clustersv2/${org}/prod/connect`, {
    token: leaver.token,
    body: { accessConfig: fake.kubeconfig() },
  })
  await until(reached)
  await expectStatus(
    service.send('DELETE', `/api/v1/orgs/${org}/members/${leaver.login}`, { token: keeper.token }),
    204,
  )
  release()
  t.is((await changed).status, 403)
})
