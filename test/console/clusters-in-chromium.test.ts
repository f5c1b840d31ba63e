// process: waiting - uses components
import { needing } from '../support/components/needing.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startCluster } from './cluster.fixture.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { cell, faultsOfViews, heading, startConsole } from './console.fixture.ts'

const test = needing('chromium')

let fixture: ConsoleFixture
let cluster: FakeKubernetes
let token: string
test.before(async () => {
  cluster = await startCluster()
  // The smallest deployment: no contracts, no usage.
  fixture = await startConsole({ MOORAGE_DEPLOYMENT_TYPE: 'SelfHosted', MOORAGE_BILLING_ENABLED: 'false' })
  await fixture.addUser('carl', 'Carl Cluster')
  token = await fixture.service.tokenFor('carl')
  await fixture.service.send('POST', '/api/v1/orgs', { token, body: { username: 'acme' } })
  const body = {
    basicInfo: { name: 'one', displayName: 'Number one' },
    provider: { accessConfig: cluster.kubeconfig() },
  }
  await fixture.service.send('POST', '/api/v1/clustersv2/acme/import', { token, body })
})
test.after.always(async () => {
  await fixture?.stop()
  await cluster?.stop()
})

test.serial('a cluster is imported with a kubeconfig that is checked first', async (t) => {
  await fixture.service.send('POST', '/api/v1/orgs', { token, body: { username: 'other' } })
  const { page, problems, expect, close } = await fixture.open('carl', '/console/o/other/clusters')
  await page.getByRole('link', { name: 'Import a cluster' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('two')
  await page.getByLabel('Kubeconfig', { exact: true }).fill('no: kubeconfig')
  expect(400, 422)
  await page.getByRole('button', { name: 'Import a cluster' }).click()
  await page.locator('.field-problem, .panel.problem').waitFor()
  await page.getByLabel('Kubeconfig', { exact: true }).fill(cluster.kubeconfig())
  await page.getByRole('button', { name: 'Check the connection' }).click()
  await page.getByText('The cluster answers.').waitFor()
  await page.getByRole('button', { name: 'Import a cluster' }).click()
  await page.getByRole('heading', { name: 'two' }).waitFor()
  await page.getByText('Active').waitFor()
  t.is(new URL(page.url()).pathname, '/console/o/other/clusters/two')
  t.deepEqual(problems, [])
  await close()
})

test.serial('a kubeconfig is saved, and works for the cluster', async (t) => {
  const { page, problems, close } = await fixture.open('carl', '/console/o/acme/clusters/one')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Kubeconfig' }).click()
  t.is((await saved).suggestedFilename(), 'one.acme.kubeconfig')
  await page.getByText('The kubeconfig is saved.').waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('workloads, logs and events are read through the proxy, and shown as text', async (t) => {
  const { page, problems, close } = await fixture.open('carl', '/console/o/acme/clusters/one/workloads')
  await page.getByRole('cell', { name: '<img src=x onerror=alert(1)>' }).waitFor()
  await page.getByLabel('Namespace').selectOption('shop')
  await page.waitForURL(/namespace=shop/)
  await page.getByRole('cell', { name: 'checkout', exact: true }).waitFor()
  t.is(await page.getByRole('row').count(), 3)
  await page.getByLabel('Kind').selectOption('pods')
  await page.getByRole('button', { name: 'Log of checkout-5f7c9' }).click()
  await page.getByText('payment accepted \ufffd 42').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'Events' }).click()
  await page.getByRole('cell', { name: /Back-off restarting/ }).waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('an answer of a cluster that is no list is reported and breaks nothing', async (t) => {
  const { page, problems, close } = await fixture.open('carl', '/console/o/acme/clusters/one/workloads?kind=services')
  await page.getByText('The cluster sent an answer that is not valid.').waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('a connection that is cut is reported, and the list is read when it is back', async (t) => {
  const { page, close } = await fixture.open('carl', '/console/o/acme/clusters')
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('cell', { name: 'Carl Cluster' }).waitFor()
  await page.getByRole('link', { name: 'Clusters' }).click()
  await page.getByRole('link', { name: 'Number one' }).waitFor()
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByText('The service cannot be reached. What you typed is kept.').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('link', { name: 'Clusters' }).click()
  await page.getByRole('link', { name: 'Number one' }).waitFor()
  t.is(await page.getByText('The service cannot be reached. What you typed is kept.').count(), 0)
  await close()
})

test.serial('the screens of clusters are accessible on each device', async (t) => {
  const faults = await faultsOfViews(fixture, 'carl', [
    ['/console/', heading('Needs attention')],
    ['/console/o/acme/clusters', cell('Number one')],
    ['/console/o/acme/import-cluster', heading('Make a kubeconfig')],
    ['/console/o/acme/clusters/one', heading('Capabilities')],
    ['/console/o/acme/clusters/one/workloads', cell('checkout')],
    ['/console/o/acme/clusters/one/events', cell('Back-off')],
  ])
  t.deepEqual(faults, [])
})
