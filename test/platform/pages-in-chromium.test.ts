// process: waiting - uses components
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { AccountId } from '../../core/kernel/ids.ts'
import { UsageOverviewStorePort } from '../../core/usage/overview-ports.ts'
import { launchBrowser, signInOn, violationsOf } from '../support/browser.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'

const test = needing('chromium')

let service: TestService
let browser: Browser
test.before(async () => {
  service = await startService({
    settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true' },
  })
  browser = await launchBrowser()
})
test.after.always(async () => {
  await browser?.close()
  await service?.stop()
})

interface Opened {
  readonly page: Page
  /** The requests of the page, by path. */
  readonly requested: string[]
  readonly problems: string[]
}

const openPage = async (path: string, options: BrowserContextOptions = {}): Promise<Opened> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const opened: Opened = { page, requested: [], problems: [] }
  page.on('request', (request) => opened.requested.push(new URL(request.url()).pathname))
  page.on('pageerror', (error) => opened.problems.push(error.message))
  // A page that asks whether there is a session gets 401.
  page.on(
    'console',
    (message) =>
      message.type() === 'error' && !/status of 401/.test(message.text()) && opened.problems.push(message.text()),
  )
  await page.goto(service.baseUrl + path)
  return opened
}

/** Opens an operation of the list and waits until it is drawn. */
const openOperation = async (page: Page, id: string): Promise<void> => {
  await page.locator(`details[data-operation="${id}"] > summary`).click()
  await page.locator(`article[data-shown="${id}"]`).waitFor()
}

for (const [device, options] of [
  ['a desktop', { viewport: { width: 1280, height: 900 } }],
  ['a phone in dark mode', { viewport: { width: 375, height: 800 }, colorScheme: 'dark' }],
] as const)
  test(`the documentation page on ${device} is narrow enough and accessible`, async (t) => {
    const { page } = await openPage('/api/v1/docs', { ...options, bypassCSP: true })
    await openOperation(page, 'authz.createRole')
    t.deepEqual(await violationsOf(page), [])
    t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= options.viewport.width)
    await page.context().close()
  })

test('the page draws an operation when it is opened, and never loads the description', async (t) => {
  const { page, requested, problems } = await openPage('/api/v1/docs')
  t.is(await page.locator('article').count(), 0)
  const before = requested.length
  await openOperation(page, 'authz.createRole')
  t.deepEqual(requested.slice(before), ['/api/v1/docs/operations/authz.createRole'])
  t.false(requested.includes('/api/v1/openapi.json'))
  await page.locator('#find').fill('roles create')
  t.is(await page.locator('details[data-operation]:visible').count(), 1)
  t.deepEqual(problems, [])
  await page.context().close()
})

test('a link of an error opens its operation', async (t) => {
  const { page } = await openPage('/api/v1/docs#operation/authz.createRole')
  await page.locator('article[data-shown="authz.createRole"]').waitFor()
  t.is(await page.locator('details[open][data-operation="authz.createRole"]').count(), 1)
  await page.context().close()
})

test('a change is sent with the session of a user who is signed in, and with a token', async (t) => {
  const { page } = await openPage('/sign-in')
  await signInOn(page, adminLogin, adminPassword)
  await page.locator('#account:not([hidden])').waitFor()
  await page.goto(`${service.baseUrl}/api/v1/docs`)
  await openOperation(page, 'organizations.createOrganization')
  const article = page.locator('article[data-shown="organizations.createOrganization"]')
  const create = async (login: string): Promise<string> => {
    await article.locator('[data-body]').fill(JSON.stringify({ username: login }))
    await article.locator('button').click()
    await article.locator('.result p', { hasText: 'Status' }).waitFor()
    return article.locator('.result').innerText()
  }
  t.regex(await create('with-session'), /Status 201[\s\S]*"username": "with-session"/)
  t.true((await page.locator('#caller').innerText()).includes(adminLogin))
  await page.context().clearCookies()
  await page.locator('#token').fill(service.adminToken)
  t.regex(await create('with-token'), /Status 201[\s\S]*"username": "with-token"/)
  await page.context().close()
})

test('a user edits profile and second factor on the account page', async (t) => {
  const password = 'rowing across 7 lakes'
  const body = { username: 'paula', email: 'paula@example.com', password, must_change_password: false }
  t.is((await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })).status, 201)
  const { page, problems } = await openPage('/account', { bypassCSP: true })
  await signInOn(page, 'paula', password)
  await page.locator('#parts:not([hidden])').waitFor()
  t.deepEqual(await violationsOf(page), [])

  const done = (text: string): Promise<void> => page.locator('#message', { hasText: text }).waitFor()
  await page.locator('#full-name').fill('Paula Ferry')
  await page.locator('#profile-form button').click()
  await done('The profile is saved.')
  await page.locator('#new-address').fill('paula@example.net')
  await page.locator('#address-form button').click()
  await done('A mail with a link is sent')
  // The page reads the list again after the message.
  await page.locator('#addresses li').nth(1).waitFor()
  t.is(await page.locator('#addresses li').count(), 2)
  await page.locator('#token-name').fill('laptop')
  await page.locator('#token-form button').click()
  await page.locator('#new-token:not([hidden])').waitFor()
  const token = await page.locator('#new-token-text').innerText()
  t.like((await service.send('GET', '/api/v1/user', { token })).json, { login: 'paula', full_name: 'Paula Ferry' })
  await page.locator('#tokens button').click()
  await done('The token is deleted.')
  t.is((await service.send('GET', '/api/v1/user', { token })).status, 401)

  await page.locator('#factor-offer').click()
  await page.locator('#enroll-form:not([hidden])').waitFor()
  const secret = Secret.fromBase32(await page.locator('#factor-key').innerText())
  await page.locator('#first-code').fill(new TOTP({ secret }).generate())
  await page.locator('#enroll-form button').click()
  await page.locator('#recovery:not([hidden])').waitFor()
  const [recoveryCode = ''] = (await page.locator('#recovery-codes').innerText()).split('\n')
  await page.locator('#factor-password').fill(password)
  await page.locator('#factor-code').fill(recoveryCode)
  await page.locator('#factor-act').selectOption('disable')
  await page.locator('#factor-form button').click()
  await done('The authenticator app is removed.')
  t.deepEqual(problems, [])

  await page.goto(`${service.baseUrl}/`)
  await page.locator('#caller', { hasText: 'Signed in as paula.' }).waitFor()
  await page.locator('#entrance a').click()
  await page.locator('#leave').click()
  await page.locator('#sign-in-form:not([hidden])').waitFor()
  await page.context().close()
})

test('a site admin sees arrived and refused usage events of each cluster', async (t) => {
  t.is(
    (await service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: 'reporting' } })).status,
    201,
  )
  const { json } = await service.send('GET', '/api/v1/orgs/reporting', { token: service.adminToken })
  const ownerId = json.id as AccountId
  const clusterUid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
  const at = new Date('2026-11-20T10:00:00Z')
  const overview = service.running.container.resolve(UsageOverviewStorePort)
  await overview.addIntake({
    ownerId,
    clusterUid,
    day: Math.floor(at.getTime() / 86_400_000),
    accepted: 1234,
    repeated: 5,
    refused: 1,
    late: 2,
  })
  await overview.addRefused([
    {
      ownerId,
      clusterUid,
      eventId: 'event <1>',
      type: 'object.created',
      reason: 'invalid',
      message: 'kind must be the name of a kind.',
      receivedAt: at,
    },
  ])
  const { page, problems } = await openPage('/usage-intake', { viewport: { width: 375, height: 800 }, bypassCSP: true })
  await signInOn(page, adminLogin, adminPassword)
  await page.locator('#account-name').fill('reporting')
  await page.locator('#first-day').fill('2026-11-01')
  await page.locator('#last-day').fill('2026-11-30')
  await page.locator('#intake-form button').click()
  await page.locator('#results:not([hidden])').waitFor()
  t.deepEqual(await page.locator('#sums td').allInnerTexts(), [
    '2026-11-20',
    clusterUid,
    '1,240',
    '1,234',
    '5',
    '1',
    '2',
  ])
  t.deepEqual(await page.locator('#total td.number').allInnerTexts(), ['1,240', '1,234', '5', '1', '2'])
  t.deepEqual(await page.locator('#refused td').allInnerTexts(), [
    '2026-11-20 10:00:00',
    clusterUid,
    'event <1>',
    'object.created',
    'invalid',
    'kind must be the name of a kind.',
  ])
  t.deepEqual(await violationsOf(page), [])
  t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
  t.deepEqual(problems, [])
  await page.context().close()
})

test('a code that is no longer valid leads to a new one', async (t) => {
  const { page } = await openPage('/reset-password?code=0000-0000-0000')
  await page.locator('#new-password').fill('rowing across 8 lakes')
  await page.locator('#new-password-again').fill('rowing across 8 lakes')
  await page.locator('#reset-form button').click()
  await page.locator('#message.problem').waitFor()
  t.true(await page.locator('#ask-form').isVisible())
  t.true(await page.locator('#code').isVisible())
  await page.context().close()
})
