// process: own - starts a hub, and a service on what the demonstration has made
import type { ExecutionContext } from 'ava'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { needing } from '../support/components/needing.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { allLooks, cell, faultsOfViews, heading } from './console.fixture.ts'
import { startDemonstration } from './demonstration.fixture.ts'
import { differenceFromPicture } from './pictures.ts'

const test = needing('chromium', 'kubernetes', 'spoke-kubernetes').serial

let fixture: ConsoleFixture
test.before(async (t) => {
  t.timeout(300_000)
  fixture = await startDemonstration()
})
test.after.always(async () => fixture?.stop())

/** A story of a user: what they do, and the picture of where it ends. */
const story = (
  title: string,
  [login, path, options]: readonly [login: string, path: string, options?: BrowserContextOptions],
  act: (page: Page, t: ExecutionContext, expect: (status: number) => void) => Promise<void>,
  picture: string,
): void => {
  test(title, async (t) => {
    const { page, problems, expect, close } = await fixture.open(login, path, options)
    await act(page, t, expect)
    t.is(await differenceFromPicture(page, picture), undefined)
    t.deepEqual(problems, [])
    await close()
  })
}

const dialog = (page: Page) => page.locator('dialog')
const dark: BrowserContextOptions = { colorScheme: 'dark' }
const phone: BrowserContextOptions = { viewport: { width: 375, height: 800 } }

story(
  'an owner accepts a cluster that asks to join a hub',
  ['vera', '/console/o/harbourmaster/hubs'],
  async (page) => {
    await page.getByRole('cell').getByRole('link').first().click()
    await page.getByRole('button', { name: /^Accept/ }).click()
    await page.getByText('is a spoke now.').waitFor()
    await page.getByRole('heading', { name: 'Clusters that ask to join' }).waitFor({ state: 'detached' })
  },
  'hub',
)

story(
  'an owner makes a cluster set and adds a spoke to it',
  ['vera', '/console/o/harbourmaster/hubs/hub/sets'],
  async (page) => {
    await page.getByRole('button', { name: 'Create a cluster set' }).click()
    await dialog(page).getByLabel('Name').fill('edge')
    await dialog(page).getByRole('button', { name: 'Create a cluster set' }).click()
    await page.getByRole('link', { name: 'edge' }).click()
    await page.getByRole('button', { name: 'Add a cluster' }).click()
    await dialog(page).getByLabel('Cluster').selectOption('quay')
    await dialog(page).getByRole('button', { name: 'Add a cluster' }).click()
    await page.getByRole('cell', { name: 'quay' }).first().waitFor()
    await page.getByRole('heading', { name: 'Feature sets' }).waitFor()
  },
  'cluster-set',
)

story(
  'an owner downloads the license of a cluster',
  ['nora', '/console/o/northwind/contracts'],
  async (page, t) => {
    await page.getByRole('link', { name: 'Databases for Northwind Bank' }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'License Dublin' }).click()
    t.is((await saved).suggestedFilename(), 'license-Dublin.pem')
  },
  'contract',
)

story(
  'a viewer reads a contract and sees what they may not do',
  ['nadia', '/console/o/northwind/contracts/1', phone],
  async (page, t) => {
    await page.getByText('You may not bind clusters.').waitFor()
    t.is(await page.getByRole('button', { name: /^License/ }).count(), 0)
  },
  'contract-of-a-viewer',
)

story(
  'an owner sees which databases run',
  ['nora', '/console/o/northwind/usage', dark],
  async (page) => {
    await page.getByRole('searchbox').fill('dublin')
    await page.waitForURL(/q=dublin/)
    await page.getByRole('cell', { name: 'Frankfurt' }).waitFor({ state: 'detached' })
  },
  'own-usage',
)

story(
  'the vendor opens the usage of a customer from the month of all',
  ['admin', '/console/vendor/customers'],
  async (page) => {
    await page.getByRole('link', { name: 'northwind' }).click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.locator('.plot canvas').nth(1).waitFor()
  },
  'usage',
)

story(
  'the vendor computes a month again',
  ['admin', '/console/vendor/customers', dark],
  async (page) => {
    await page.getByRole('button', { name: 'Compute again aurora' }).click()
    await dialog(page).getByRole('button', { name: 'Compute again' }).click()
    await page.getByText(/of aurora was computed/).waitFor()
    await page.getByText(/Revision 2/).waitFor()
  },
  'customers',
)

story(
  'the vendor sees the client organizations and what is on their clusters',
  ['admin', '/console/vendor/client-organizations'],
  async (page) => {
    await page.getByText('Active').nth(1).waitFor()
  },
  'client-organizations',
)

story(
  'a site admin finds a user and a setting in force',
  ['admin', '/console/site/users'],
  async (page) => {
    await page.getByRole('searchbox').fill('nora')
    await page.getByRole('cell', { name: /^vera/ }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Service' }).click()
    await page.getByRole('searchbox').fill('deployment')
    await page.getByText('MOORAGE_DEPLOYMENT_TYPE').waitFor()
  },
  'service',
)

story(
  'the admin of a client organization finds their cluster under the name of the vendor',
  ['lena', '/console/', phone],
  async (page, t, expect) => {
    await page.getByRole('button', { name: 'Navigation' }).click()
    await page.getByRole('link', { name: 'Clusters', exact: true }).click()
    await page.getByRole('link', { name: 'Quay' }).click()
    await page.getByRole('button', { name: 'Kubeconfig' }).waitFor()
    await page.getByText('Active').waitFor()
    // Not a reader of all namespaces: the one of the organization is offered.
    expect(403)
    await page.getByRole('link', { name: 'Workloads' }).click()
    await page.getByText('at the cluster scope').first().waitFor()
    t.is(await page.getByLabel('Namespace').inputValue(), 'lighthouse')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('at the cluster scope').waitFor({ state: 'detached' })
    t.is(await page.getByText('You may not see this.').count(), 0)
  },
  'portal-cluster',
)

const shows = (text: string) => (page: Page) => page.getByText(text).first().waitFor()

test('the screens are accessible in both color schemes and at each width', async (t) => {
  t.timeout(180_000)
  const asAdmin = await faultsOfViews(
    fixture,
    'admin',
    [
      ['/console/', heading('Needs attention')],
      ['/console/o/northwind/usage', (page) => page.locator('.plot canvas').nth(1).waitFor()],
      ['/console/o/northwind/contracts/1', heading('Issued licenses')],
      ['/console/o/northwind/invoices', shows('HM-000001')],
      ['/console/o/northwind/invoices/1', heading('Seller')],
      ['/console/vendor/customers', cell('dbProduct')],
      ['/console/vendor/client-organizations', shows('Active')],
      ['/console/site/users', shows('Nora Berg')],
      ['/console/site/service', shows('MOORAGE_LISTEN')],
      ['/console/site/branding', shows('Address of the logo')],
    ],
    allLooks,
  )
  const asOwner = await faultsOfViews(
    fixture,
    'vera',
    [
      ['/console/o/harbourmaster/clusters', cell('Active')],
      ['/console/o/harbourmaster/hubs', cell('hub')],
      ['/console/o/harbourmaster/hubs/hub', cell('spoke-1')],
      ['/console/o/harbourmaster/hubs/hub/sets', cell('fleet')],
      ['/console/o/harbourmaster/hubs/hub/sets/fleet', heading('Feature sets')],
      ['/console/o/harbourmaster/members', shows('Victor')],
      ['/console/o/harbourmaster/teams', shows('Owners')],
      ['/console/o/harbourmaster/roles', heading('Roles')],
      ['/console/o/harbourmaster/audit', shows('organization.created')],
      ['/console/o/harbourmaster/settings', heading('Settings')],
      ['/console/o/harbourmaster/installation', heading('Connect kubectl')],
    ],
    allLooks,
  )
  t.deepEqual([...asAdmin, ...asOwner], [])
})
