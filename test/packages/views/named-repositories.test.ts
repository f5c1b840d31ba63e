import test from 'ava'
import { expectStatus, importCluster } from '../../clusters/cluster-world.ts'
import { startViewsWorld, type ViewsWorld } from './views-world.ts'

/** Charts of named repositories: whose credentials fetch them, and who never sees them. */
let world: ViewsWorld
let org: string
test.before(async () => {
  world = await startViewsWorld()
  org = world.helm.split('/')[4] ?? ''
  const repository = { name: 'private', url: world.charts.url, username: 'reader', password: 'anchor-and-chain' }
  await expectStatus(world.service.send('POST', `/api/v1/orgs/${org}/chartrepositories`, { token: world.owner.token, body: repository }), 201)
})
test.after.always(() => world?.stop())

const source = { name: 'ferry', version: '1.4.0', sourceKind: 'ChartRepository', sourceName: 'private' }
const views = ['/packageview', '/packageview/files', '/packageview/files/Chart.yaml', '/packageview/values', '/bundleview']

test.serial('a chart of a named repository is fetched with its credentials, once', async (t) => {
  for (const path of views) {
    const answer = await expectStatus(world.ask('GET', path, { query: source }), 200)
    t.false(answer.text.includes('anchor-and-chain'))
  }
  const expected = `Basic ${Buffer.from('reader:anchor-and-chain').toString('base64')}`
  t.true(world.charts.authorizations.length > 0)
  t.deepEqual([...new Set(world.charts.authorizations)], [expected])
  t.is(world.charts.requests.filter((line) => line.endsWith('.tgz')).length, 1, 'what was fetched for one view serves the next')
  t.false(world.service.logText().includes('anchor-and-chain'))
})

test.serial('another organization has no repository of that name, whatever was fetched before', async (t) => {
  await expectStatus(world.ask('GET', '/packageview', { query: source }), 200)
  const theirs = await world.people.organization(world.stranger)
  await expectStatus(importCluster(world.service.send, world.stranger.token, theirs, 'own', world.api.kubeconfig()), 200)
  const asked = world.charts.requests.length
  for (const path of views) {
    const query = new URLSearchParams({ ...source, sourceNamespace: org }).toString()
    const answer = await world.service.send('GET', `/api/v1/clusters/${theirs}/own/helm${path}?${query}`, { token: world.stranger.token })
    t.deepEqual([answer.status, answer.json?.code], [404, 'ChartMissing'], answer.text)
  }
  const ordered = await world.service.send('POST', `/api/v1/clusters/${theirs}/own/helm/packageview/orders`, { token: world.stranger.token, body: source })
  t.is(ordered.status, 404)
  t.is(world.charts.requests.length, asked)
})
