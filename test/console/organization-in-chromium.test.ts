// process: waiting - uses components
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { signInOn } from '../support/browser.ts'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { cell, faultsOfViews, heading, startConsole } from './console.fixture.ts'

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

test.serial('a refused change shows the sentence of the API at its field', async (t) => {
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

test.serial('an action that the caller may not take is explained', async (t) => {
  await fixture.addUser('outsider')
  const { page, close } = await fixture.open('outsider', '/console/o/acme/members')
  let questions = 0
  page.on('request', (request) => void (questions += request.url().includes('allowed-permissions') ? 1 : 0))
  await page.reload()
  await page.getByText('You may not add members.').waitFor()
  t.is(await page.getByRole('button', { name: 'Add a member' }).count(), 0)
  // A refused question about rights is not asked again and again.
  await page.waitForTimeout(300)
  t.true(questions <= 2)
  await close()
})

test.serial('the home screen asks for nothing that the caller may not see', async (t) => {
  await fixture.addUser('vic')
  const token = await fixture.service.tokenFor('olga')
  await fixture.service.send('PUT', '/api/v1/orgs/acme/memberships/vic', { token, body: { role: 'member' } })
  const { page, problems, close } = await fixture.open('vic', '/console/')
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('a member is removed after their name is typed', async (t) => {
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

test.serial('a right that was withdrawn while a screen is open is no longer offered', async (t) => {
  await fixture.addUser('ada')
  const token = await fixture.service.tokenFor('olga')
  await fixture.service.send('PUT', '/api/v1/orgs/acme/memberships/ada', { token, body: { role: 'admin' } })
  const { page, problems, expect, close } = await fixture.open('ada', '/console/o/acme/members')
  await page.getByRole('button', { name: 'Add a member' }).click()
  await page.getByLabel('User name or e-mail address').fill('max')
  await fixture.service.send('PUT', '/api/v1/orgs/acme/memberships/ada', { token, body: { role: 'member' } })
  expect(403)
  await page.locator('dialog').getByRole('button', { name: 'Add a member' }).click()
  await page.locator('dialog .panel').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('You may not add members.').waitFor()
  t.is(await page.getByRole('button', { name: 'Add a member' }).count(), 0)
  t.deepEqual(problems, [])
  await close()
})

test.serial('a session that ended in the middle of a form keeps what was typed', async (t) => {
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

test.serial('a role is made by its permission matrix, which selects what it requires', async (t) => {
  const { page, problems, close } = await fixture.open('olga', '/console/o/acme/roles/new')
  await page.getByLabel('Name', { exact: true }).fill('importers')
  await page.getByRole('checkbox', { name: /^import clusters/ }).check()
  t.true(await page.getByRole('checkbox', { name: /^view clusters/ }).isChecked())
  await page.getByRole('checkbox', { name: /^view clusters/ }).uncheck()
  t.false(await page.getByRole('checkbox', { name: /^import clusters/ }).isChecked())
  await page.getByRole('checkbox', { name: /^import clusters/ }).check()
  await page.getByRole('button', { name: 'Create a role' }).click()
  await page.getByText('The role importers is created.').waitFor()
  await page.getByRole('heading', { name: 'importers' }).waitFor()
  const { json } = await fixture.service.send('GET', '/api/v1/authz/roles?org=acme', {
    token: await fixture.service.tokenFor('olga'),
  })
  t.like(json, { 0: { name: 'importers', permissions: { length: 2 } } })
  t.deepEqual(problems, [])
  await close()
})

test.serial('a change of an object that another request has changed shows both versions', async (t) => {
  const token = await fixture.service.tokenFor('olga')
  const made = await fixture.service.send('POST', '/api/v1/orgs/acme/teams', {
    token,
    body: { name: 'night', permission: 'read' },
  })
  const id = Number(made.json.id)
  const { page, problems, expect, close } = await fixture.open('olga', `/console/o/acme/teams/${id}`)
  await page.getByLabel(/^Description/).fill('mine')
  await fixture.service.send('PATCH', `/api/v1/teams/${id}`, { token, body: { description: 'theirs' } })
  expect(412)
  await page.getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: /Description/ })
  await row.waitFor()
  t.deepEqual(await row.getByRole('cell').allInnerTexts(), ['theirs', 'mine'])
  await page.getByRole('button', { name: 'Keep mine, to save it over that' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The team is saved.').waitFor()
  t.like((await fixture.service.send('GET', `/api/v1/teams/${id}`, { token })).json, { description: 'mine' })
  t.deepEqual(problems, [])
  await close()
})

test.serial('a token of a robot account is shown once', async (t) => {
  const token = await fixture.service.tokenFor('olga')
  await fixture.service.send('POST', '/api/v1/orgs/acme/robots', { token, body: { name: 'deployer' } })
  const { page, problems, close } = await fixture.open('olga', '/console/o/acme/robots/deployer')
  await page.getByRole('button', { name: 'Create a token' }).click()
  await page.getByLabel('Name of the token').fill('pipeline')
  await page.locator('dialog').getByRole('button', { name: 'Create a token' }).click()
  const made = await page.getByRole('region', { name: 'New token' }).innerText()
  // The token is known; its scope does not cover this route.
  t.like((await fixture.service.send('GET', '/api/v1/user', { token: made })).json, { code: 'ScopeMissing' })
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('cell', { name: /^pipeline/ }).waitFor()
  t.false((await page.content()).includes(made))
  t.deepEqual(problems, [])
  await close()
})

test.serial('the screens of an organization are accessible on each device', async (t) => {
  const faults = await faultsOfViews(fixture, 'olga', [
    ['/console/', heading('Needs attention')],
    ['/console/o/acme/members', cell('Olga Owner')],
    ['/console/o/acme/teams', cell('Owners')],
    ['/console/o/acme/roles/new', heading('Permissions')],
    ['/console/o/acme/robots', heading('Robots and tokens')],
    ['/console/o/acme/audit', cell('organization.created')],
    ['/console/o/acme/settings', heading('Policies')],
  ])
  t.deepEqual(faults, [])
})

test.serial('the console and its sign-in work below the path of a reverse proxy', async (t) => {
  const target = new URL(fixture.service.baseUrl)
  const proxy = createServer((req, res) => {
    if (req.url?.startsWith('/platform/') !== true) return void res.writeHead(404).end()
    const path = req.url.slice('/platform'.length)
    const sent = request(
      { host: target.hostname, port: target.port, method: req.method, path, headers: req.headers },
      (reply) => {
        res.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(res)
      },
    )
    req.pipe(sent)
  })
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/platform`
  const { page, problems, expect, close } = await fixture.open('olga', '/console/')
  await page.context().clearCookies()
  expect(401)
  await page.goto(`${base}/console/o/acme/members`)
  await page.waitForURL(`${base}/sign-in`)
  await signInOn(page, 'olga', fixture.password)
  await page.waitForURL(`${base}/console/o/acme/members`)
  await page.getByRole('cell', { name: 'Olga Owner' }).waitFor()
  await page.getByRole('link', { name: 'Teams' }).click()
  await page.getByRole('link', { name: 'Owners' }).waitFor()
  t.is(page.url(), `${base}/console/o/acme/teams`)
  t.deepEqual(problems, [])
  await close()
  proxy.closeAllConnections()
  proxy.close()
})

test.serial('MOORAGE_CONSOLE=off removes the console and nothing else', async (t) => {
  const service = await startService({ settings: { MOORAGE_CONSOLE: 'off' } })
  const headers = { accept: 'text/html' }
  t.is((await service.send('GET', '/console', { headers })).status, 404)
  t.false((await service.send('GET', '/', { headers })).text.includes('/console/'))
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  t.true((await fixture.service.send('GET', '/', { headers })).text.includes('href="./console/"'))
  await service.stop()
})
