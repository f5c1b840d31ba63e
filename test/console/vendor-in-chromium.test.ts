// process: waiting - uses components
import type { Page } from 'playwright-core'
import { needing } from '../support/components/needing.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { faultsOfViews, startConsole } from './console.fixture.ts'

const test = needing('chromium')

let fixture: ConsoleFixture
test.before(async () => {
  fixture = await startConsole()
  await fixture.addUser('vera', 'Vera Vendor')
  await fixture.addUser('nora', 'Nora Owner')
  const { service } = fixture
  await service.send('PATCH', '/api/v1/admin/users/vera', { token: service.adminToken, body: { admin: true } })
  await service.send('POST', '/api/v1/orgs', { token: await service.tokenFor('nora'), body: { username: 'northwind' } })
})
test.after.always(async () => fixture?.stop())

const inDialog = (page: Page) => page.locator('dialog')

test.serial('the vendor adds a contract, extends it and revokes it', async (t) => {
  const { page, problems, expect, close } = await fixture.open('vera', '/console/vendor/contracts')
  await page.getByRole('button', { name: 'Add a contract' }).click()
  await page.getByLabel('Account').last().fill('nosuch')
  await page.getByLabel(/^Contract/).fill('Databases 2027')
  await page.getByLabel('Product').fill('database')
  await page.getByLabel('Features').fill('database-enterprise, backup')
  await page.getByLabel('Start').fill('2026-01-01')
  await page.getByLabel('End').fill('2099-01-01')
  await page.getByLabel(/^Limit/).fill('100')
  expect(422)
  await inDialog(page).getByRole('button', { name: 'Add a contract' }).click()
  await inDialog(page).getByText('nosuch').waitFor()
  await page.getByLabel('Account').last().fill('northwind')
  await inDialog(page).getByRole('button', { name: 'Add a contract' }).click()
  await page.getByRole('link', { name: 'Databases 2027' }).click()
  await page.getByRole('cell', { name: '100 core-months' }).waitFor()
  await page.getByRole('button', { name: 'Extend' }).click()
  await inDialog(page).getByLabel('End').fill('2100-01-01')
  await inDialog(page).getByRole('button', { name: 'Extend' }).click()
  await page.getByText('The contract was extended.').waitFor()
  const { json } = await fixture.service.send('GET', '/api/v1/contracts', { token: fixture.service.adminToken })
  t.like(json, { 0: { name: 'Databases 2027', orgOrUser: 'northwind', end: Date.parse('2100-01-01') / 1000 } })
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByLabel('Type Databases 2027 to confirm').fill('Databases 2027')
  await inDialog(page).getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The contract was revoked.').waitFor()
  await page.getByText('Revoked', { exact: true }).first().waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('a customer sees its contracts and may not change their terms', async (t) => {
  const { page, problems, close } = await fixture.open('nora', '/console/o/northwind/contracts')
  await page.getByRole('link', { name: 'Databases 2027' }).click()
  await page.getByRole('heading', { name: 'Terms' }).waitFor()
  t.is(await page.getByRole('button', { name: 'Revoke' }).count(), 0)
  t.is(await page.getByRole('link', { name: 'All contracts' }).count(), 0)
  t.deepEqual(problems, [])
  await close()
})

test.serial('a site admin adds a user and deactivates the account', async (t) => {
  const { page, problems, expect, close } = await fixture.open('vera', '/console/site/users')
  await page.getByRole('button', { name: 'Add a user' }).click()
  await page.getByLabel('User name').fill('tim')
  await page.getByLabel('E-mail').fill('tim@example.com')
  await page.getByLabel('First password').fill('short')
  expect(400)
  await inDialog(page).getByRole('button', { name: 'Add a user' }).click()
  await inDialog(page)
    .getByText(/at least 12/)
    .waitFor()
  await page.getByLabel('First password').fill('a boat on lake seven')
  await inDialog(page).getByRole('button', { name: 'Add a user' }).click()
  await page.getByRole('button', { name: 'Edit tim' }).click()
  await page.getByRole('checkbox', { name: 'Active' }).uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('tim was saved.').waitFor()
  const { json } = await fixture.service.send('GET', '/api/v1/admin/users/tim', { token: fixture.service.adminToken })
  t.like(json, { active: false })
  await page.getByLabel('State').selectOption('Deactivated')
  await page.waitForURL(/active=false/)
  await page.getByRole('cell', { name: 'tim', exact: false }).first().waitFor()
  t.is(await page.getByRole('cell', { name: 'vera@example.com' }).count(), 0)
  t.deepEqual(problems, [])
  await close()
})

test.serial('the vendor changes the name and the color of the console', async (t) => {
  const { page, problems, close } = await fixture.open('vera', '/console/site/branding')
  await page.getByLabel(/^Name/).fill('Harbour <b>Cloud</b>')
  await page.getByLabel(/^Color/).fill('#7a1f5c')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Harbour <b>Cloud</b>' }).waitFor()
  t.deepEqual(problems, [])
  await close()
})

const heading = (name: string) => (page: Page) => page.getByRole('heading', { name }).first().waitFor()

test.serial('the screens of the vendor and the site are accessible on each device', async (t) => {
  const faults = await faultsOfViews(fixture, 'vera', [
    ['/console/o/northwind/contracts/1', heading('Issued licenses')],
    ['/console/o/northwind/hubs', (page) => page.getByText('No cluster of this account is a hub.').waitFor()],
    ['/console/o/northwind/usage', (page) => page.getByText('No month has been computed yet.').waitFor()],
    ['/console/o/northwind/incoming', (page) => page.getByText('No event was refused.').waitFor()],
    ['/console/o/northwind/installation', heading('Connect kubectl')],
    ['/console/vendor/contracts', (page) => page.getByRole('link', { name: 'Databases 2027' }).waitFor()],
    ['/console/vendor/customers', (page) => page.getByText('Nothing was used in').waitFor()],
    ['/console/vendor/client-organizations', (page) => page.getByText('no client organizations').waitFor()],
    ['/console/site/users', (page) => page.getByRole('button', { name: 'Edit nora' }).waitFor()],
    ['/console/site/organizations', (page) => page.getByRole('link', { name: 'northwind' }).waitFor()],
    ['/console/site/service', (page) => page.getByText('MOORAGE_LISTEN', { exact: true }).waitFor()],
    ['/console/site/branding', (page) => page.getByRole('button', { name: 'Save' }).waitFor()],
  ])
  t.deepEqual(faults, [])
})
