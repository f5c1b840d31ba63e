// process: waiting - uses components
import type { Page } from 'playwright-core'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { faultsOfViews, startConsole } from './console.fixture.ts'

const test = needing('chromium')

let fixture: ConsoleFixture
test.before(async () => {
  fixture = await startConsole()
  await fixture.addUser('olga', 'Olga Owner')
  await fixture.addUser('max', 'Max <script>alert(1)</script>')
  const token = await fixture.service.tokenFor('olga')
  await fixture.service.send('POST', '/api/v1/orgs', {
    token,
    body: { username: 'acme', full_name: 'Acme \u202e Ltd' },
  })
})
test.after.always(async () => fixture?.stop())

test('a refused change shows the sentence of the API at its field', async (t) => {
  const { page, problems, expect, close } = await fixture.open('olga', '/console/o/acme/members')
  await page.getByRole('button', { name: 'Add a member' }).click()
  const who = page.getByLabel('User name or e-mail address')
  await who.fill('nosuch')
  expect(404)
  await page.locator('dialog').getByRole('button', { name: 'Add a member' }).click()
  await page.getByText('The user does not exist.').waitFor()
  t.is(await who.getAttribute('aria-invalid'), 'true')
  t.is(await page.evaluate('document.activeElement.name'), 'who')
  await who.fill('max')
  await page.locator('dialog').getByRole('button', { name: 'Add a member' }).click()
  await page.getByRole('cell', { name: 'Max <script>alert(1)</script>' }).waitFor()
  t.deepEqual(problems, [])
  await close()
})

test('an action that the caller may not take is explained', async (t) => {
  await fixture.addUser('outsider')
  const { page, close } = await fixture.open('outsider', '/console/o/acme/members')
  await page.getByText('You may not add members.').waitFor()
  t.is(await page.getByRole('button', { name: 'Add a member' }).count(), 0)
  await close()
})

test('a member is removed after their name is typed', async (t) => {
  await fixture.addUser('gone')
  const token = await fixture.service.tokenFor('olga')
  await fixture.service.send('PUT', '/api/v1/orgs/acme/memberships/gone', { token, body: { role: 'member' } })
  const { page, problems, close } = await fixture.open('olga', '/console/o/acme/members?q=gone')
  await page.getByRole('button', { name: 'Remove gone' }).click()
  const confirm = page.locator('dialog').getByRole('button', { name: 'Remove' })
  t.true(await confirm.isDisabled())
  await page.getByLabel('Type gone to confirm').fill('gone')
  await confirm.click()
  await page.getByText('gone is no longer a member.').waitFor()
  t.is((await fixture.service.send('GET', '/api/v1/orgs/acme/members/gone', { token })).status, 404)
  t.deepEqual(problems, [])
  await close()
})

test('a session that ended in the middle of a form keeps what was typed', async (t) => {
  const opened = await fixture.open('olga', '/console/o/acme/members')
  await opened.page.getByRole('button', { name: 'Add a member' }).click()
  await opened.page.getByLabel('User name or e-mail address').fill('kept@example.com')
  const cookies = await opened.page.context().cookies()
  await opened.page.context().clearCookies()
  opened.expect(401, 403)
  await opened.page.locator('dialog').getByRole('button', { name: 'Add a member' }).click()
  await opened.page.getByText('Your session has ended').waitFor()
  await opened.page.context().addCookies(cookies)
  await opened.page.getByRole('button', { name: 'I have signed in' }).click()
  await opened.page.getByText('An invitation was sent to kept@example.com.').waitFor()
  t.deepEqual(opened.problems, [])
  await opened.close()
})

const heading = (name: string) => (page: Page) => page.getByRole('heading', { name }).waitFor()
const cell = (name: string) => (page: Page) => page.getByRole('cell', { name }).first().waitFor()

test('the screens of an organization are accessible on each device', async (t) => {
  const faults = await faultsOfViews(fixture, 'olga', [
    ['/console/', heading('Needs attention')],
    ['/console/o/acme/members', cell('Olga Owner')],
  ])
  t.deepEqual(faults, [])
})

test('MOORAGE_CONSOLE=off removes the console and nothing else', async (t) => {
  const service = await startService({ settings: { MOORAGE_CONSOLE: 'off' } })
  const headers = { accept: 'text/html' }
  t.is((await service.send('GET', '/console', { headers })).status, 404)
  t.false((await service.send('GET', '/', { headers })).text.includes('/console/'))
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  t.true((await fixture.service.send('GET', '/', { headers })).text.includes('href="/console/"'))
  await service.stop()
})
