// process: waiting - uses components
import { randomBytes } from 'node:crypto'
import { expectStatus, importCluster, makePeople } from '../clusters/cluster-fixture.ts'
import { kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { newObject } from '../usage/events/event-fixture.ts'
import { startService } from '../support/service.ts'

/** A pod exchanges the token of its service account, which a real API server issued and reviews. */
const test = needing('kubernetes')

const audience = 'https://platform.example'
const account = `reporter-${randomBytes(4).toString('hex')}`
const inCluster = '/api/v1/namespaces/default/serviceaccounts'

let service: TestService
test.before(async () => {
  service = await startService({
    settings: { MOORAGE_KUBERNETES_ALLOW: 'loopback,private,public', MOORAGE_BILLING_ENABLED: 'true' },
  })
})
test.after.always(() => service?.stop())

test.serial('a pod needs no secret but the token of its service account', async (t) => {
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  const asOwner = { token: owner.token }
  const api = (await kubernetes())!
  await expectStatus(importCluster(service.send, owner.token, org, 'home', api.kubeconfig()), 200)
  const proxied = (method: string, path: string, body?: object) =>
    service.send(method, `/api/v1/clusters/${org}/home/proxy${path}`, {
      ...asOwner,
      ...(body === undefined ? {} : { body }),
    })
  const metadata = { name: account, namespace: 'default' }
  const system = await expectStatus(proxied('GET', '/api/v1/namespaces/kube-system'), 200)
  const { uid } = (system.json as { readonly metadata: { readonly uid: string } }).metadata
  await expectStatus(proxied('POST', inCluster, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }), 201)
  const tokenFor = async (audiences: readonly string[]): Promise<string> => {
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences, expirationSeconds: 600 },
    }
    const made = await expectStatus(proxied('POST', `${inCluster}/${account}/token`, request), 201)
    return (made.json as { readonly status: { readonly token: string } }).status.token
  }

  const team = await expectStatus(
    service.send('POST', `/api/v1/orgs/${org}/teams`, { ...asOwner, body: { name: 'Pods', permission: 'admin' } }),
    201,
  )
  const robot = { name: 'pods', team_ids: [(team.json as { readonly id: number }).id] }
  await expectStatus(service.send('POST', `/api/v1/orgs/${org}/robots`, { ...asOwner, body: robot }), 201)
  const body = {
    name: 'reporter',
    cluster_uid: uid,
    audience,
    conditions: [{ claim: 'sub', value: `system:serviceaccount:default:${account}` }],
    scopes: ['read:user', 'write:billing', 'write:cluster'],
  }
  await expectStatus(
    service.send('POST', `/api/v1/orgs/${org}/robots/pods/federated-credentials`, { ...asOwner, body }),
    201,
  )
  const exchange = async (subject: string) => {
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: `${org}+pods`,
      subject_token: subject,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    })
    const answer = await fetch(`${service.baseUrl}/oidc/token`, { method: 'POST', body: form })
    return (await answer.json()) as Record<string, string>
  }

  const exchanged = await exchange(await tokenFor([audience]))
  t.is(exchanged['scope'], 'read:user write:billing write:cluster', JSON.stringify(exchanged))
  t.like((await service.send('GET', '/api/v1/user', { token: exchanged['access_token'] ?? '' })).json, {
    login: `${org}+pods`,
  })
  const reached = await service.send('GET', `/api/v1/clusters/${org}/home/proxy/api/v1/namespaces/default`, {
    token: exchanged['access_token'] ?? '',
  })
  t.is(reached.status, 200, 'the robot account uses the cluster')
  const asPod = { token: exchanged['access_token'] ?? '' }
  const releases = await service.send('GET', `/api/v1/clusters/${org}/home/helm/v3/releases`, asPod)
  t.is(releases.status, 200, releases.text)
  const createdAt = new Date(Date.now() - 60_000).toISOString()
  const events = [newObject({ createdAt }).created(createdAt)]
  const usage = `/api/v1/usage/${org}/events`
  const reported = await service.send('POST', usage, { ...asPod, body: { clusterUID: uid, events } })
  t.like(reported.json, { results: [{ result: 'accepted' }] }, reported.text)
  t.is((await exchange(await tokenFor(['https://elsewhere.example'])))['error'], 'invalid_grant')
  const late = await tokenFor([audience])
  await expectStatus(proxied('DELETE', `${inCluster}/${account}`), 200)
  t.regex((await exchange(late))['error_description'] ?? '', /does not accept the token/)
})
