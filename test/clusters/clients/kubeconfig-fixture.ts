import { parse } from 'yaml'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import type { SendOptions, ServiceAnswer } from '../../support/send-json.ts'
import { startService } from '../../support/service.ts'
import type { Person } from '../cluster-fixture.ts'
import { expectStatus, importCluster, makePeople, peoplesPassword } from '../cluster-fixture.ts'

interface ListedToken {
  readonly id: number
  readonly name: string
  readonly scopes: readonly string[]
  readonly cluster?: string
  readonly token_last_eight: string
  readonly expires_at: string
}

/** The permissions to use a cluster. */
export const connecting = ['view clusters', 'connect to clusters'].map((action) => ({
  namespace: 'cluster_mgmt',
  action,
}))

/** A service and a fake API server, of which a file makes kubeconfigs. */
export const makeKubeconfigFixture = async () => {
  const fake = await startFakeKubernetes()
  const service = await startService()
  const people = makePeople(service)
  const owner = await people.person('owner')
  const as = (person: Person, body?: unknown) => ({ token: person.token, ...(body === undefined ? {} : { body }) })
  let made = 0
  /** A fake, imported under an owner's new organization. */
  const imported = async (): Promise<{ org: string; name: string; at: string }> => {
    const name = `c-${(made += 1)}`
    const org = await people.organization(owner)
    await expectStatus(importCluster(service.send, owner.token, org, name, fake.kubeconfig()), 200)
    return { org, name, at: `${org}/${name}` }
  }

  const configOf = (at: string, credential: SendOptions, query = ''): Promise<ServiceAnswer> =>
    service.send('GET', `/api/v1/clusters/${at}/client-config${query}`, credential)
  const tokenIn = (answer: ServiceAnswer): string => parse(answer.json as string).users[0].user.token as string
  /** The token of a kubeconfig made for the caller. */
  const madeToken = async (at: string, credential: SendOptions, query = ''): Promise<string> =>
    tokenIn(await expectStatus(configOf(at, credential, query), 200))
  const version = (at: string, token: string): Promise<ServiceAnswer> =>
    service.send('GET', `/api/v1/clusters/${at}/proxy/version`, { token })
  const clusterTokensOf = async (person: Person, at: string): Promise<readonly ListedToken[]> => {
    const all: ListedToken[] = []
    for (let page = 1; ; page += 1) {
      const { json, headers } = await expectStatus(
        service.send('GET', `/api/v1/users/${person.login}/tokens?limit=50&page=${page}`, {
          basic: [person.login, peoplesPassword],
        }),
        200,
      )
      all.push(...(json as ListedToken[]))
      if (all.length >= Number(headers['x-total-count'])) return all.filter(({ cluster }) => cluster === at)
    }
  }
  return {
    service,
    fake,
    people,
    owner,
    as,
    imported,
    configOf,
    tokenIn,
    madeToken,
    version,
    clusterTokensOf,
    stop: async () => {
      await service.stop()
      await fake.stop()
    },
  }
}

export type KubeconfigFixture = Awaited<ReturnType<typeof makeKubeconfigFixture>>
