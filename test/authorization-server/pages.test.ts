// process: waiting - uses components
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import * as client from 'openid-client'
import { launchBrowser, signInOn, violationsOf } from '../support/browser.ts'
import { needing } from '../support/components/needing.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { password, startFlowFixture } from './flow.fixture.ts'

const test = needing('chromium')
const phone = { viewport: { width: 375, height: 800 }, colorScheme: 'dark', bypassCSP: true } as const

let fixture: FlowFixture
let browser: Browser
let application: Registered
test.before(async () => {
  fixture = await startFlowFixture()
  application = await fixture.register('ada', { name: 'Dashboards <b>', redirectUri: 'http://127.0.0.1:9/callback' })
  browser = await launchBrowser()
})
test.after.always(async () => {
  await browser?.close()
  await fixture?.stop()
})

const open = async (
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly problems: string[] }> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4|ERR_CONNECTION|ERR_UNSAFE_PORT/.test(message.text()))
      problems.push(message.text())
  })
  await page.goto(url)
  return { page, problems }
}

const begun = async (scope = 'openid profile groups offline_access read:cluster'): Promise<string> => {
  const config = await fixture.configOf(application)
  return (await fixture.begin(config, scope, { redirect_uri: 'http://127.0.0.1:9/callback' })).url.href
}

/** Presses a button of the page by the keyboard, and waits for the address that the application gets. */
const returned = async (page: Page, button: string): Promise<URL> => {
  const request = page.waitForRequest((each) => each.url().startsWith('http://127.0.0.1:9/'))
  await page.locator(button).focus()
  await page.keyboard.press('Enter')
  return new URL((await request).url())
}

test.serial('a person signs in, sees what is asked in words, and allows it by the keyboard', async (t) => {
  const { page, problems } = await open(await begun())
  t.is(new URL(page.url()).pathname, '/authorize')
  await page.locator('#lead:not([hidden])').waitFor()
  t.is(await page.locator('#application').innerText(), 'Dashboards <b>')
  await signInOn(page, 'ed', password)
  await page.locator('#question:not([hidden])').waitFor()
  t.regex(await page.locator('#question').innerText(), /Dashboards <b> wants to use your account ed/)
  t.regex(await page.locator('#question-scopes').innerText(), /See clusters and what runs on them/)
  t.regex(await page.locator('#question-owner').innerText(), /registered by ada/)
  const url = await returned(page, '#question-allow')
  t.truthy(url.searchParams.get('code'))
  t.is(url.searchParams.get('iss'), fixture.issuer)
  t.deepEqual(problems, [])
  await page.context().close()
})

test.serial('a person who refuses goes back to the application', async (t) => {
  const { page } = await open(await begun('openid write:cluster'))
  await signInOn(page, 'vic', password)
  await page.locator('#question:not([hidden])').waitFor()
  t.is((await returned(page, '#question-refuse')).searchParams.get('error'), 'access_denied')
  await page.context().close()
})

test.serial('the question fits a phone in the dark, and has no fault that axe finds', async (t) => {
  const { page } = await open(await begun(), phone)
  await signInOn(page, 'adam', password)
  await page.locator('#question:not([hidden])').waitFor()
  t.deepEqual(await violationsOf(page), [])
  t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
  await page.context().close()
})

test.serial('a device is answered by a press of a button only', async (t) => {
  const program = await fixture.register('ada', {
    name: 'A command line',
    isPublic: true,
    redirectUri: 'http://127.0.0.1/',
  })
  const config = await fixture.configOf(program)
  const begunDevice = await client.initiateDeviceAuthorization(config, { scope: 'openid offline_access' })
  const { page, problems } = await open(begunDevice.verification_uri_complete ?? '', {
    viewport: { width: 375, height: 800 },
  })
  t.is(new URL(page.url()).search, '')
  await signInOn(page, 'ed', password)
  await page.locator('#user-code-form:not([hidden])').waitFor()
  t.is(await page.locator('#user-code').inputValue(), begunDevice.user_code)
  await page.locator('#user-code-form button').click()
  await page.locator('#question:not([hidden])').waitFor()
  t.regex(await page.locator('#question-device').innerText(), /127\.0\.0\.1/)
  t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
  const waiting = await fetch(`${fixture.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: program.clientId,
      device_code: begunDevice.device_code,
    }),
  })
  t.is(((await waiting.json()) as { error: string }).error, 'authorization_pending')
  await page.locator('#question-allow').click()
  await page.getByText('Done. Go back to the device').waitFor()
  t.deepEqual(problems, [])
  await page.context().close()
})

test.serial('an error of the protocol is a page of this service', async (t) => {
  const { page } = await open(`${fixture.issuer}/auth?client_id=none`, phone)
  t.is(await page.locator('h1').innerText(), 'This did not work')
  t.deepEqual(await violationsOf(page), [])
  await page.context().close()
})

test.serial('an owner registers applications of an organization, and a site admin of the site', async (t) => {
  const register = async (login: string, secret: string, owner: string) => {
    const { page } = await open(`${fixture.service.baseUrl}/account`, phone)
    await signInOn(page, login, secret)
    await page.locator('#parts:not([hidden])').waitFor()
    await page.locator('#application-owner').selectOption({ label: owner })
    await page.locator('#application-name').fill(`Of ${owner}`)
    await page.locator('#application-redirects').fill('https://wiki.example.com/callback')
    await page.locator('#application-form button').click()
    await page.locator('#new-application:not([hidden])').waitFor()
    await page.locator('#applications button', { hasText: 'New secret' }).waitFor()
    t.deepEqual(await violationsOf(page), [])
    await page.context().close()
  }
  await register('ada', password, 'acme')
  const ofAcme = await fixture.as('ada', 'GET', '/orgs/acme/applications/oauth2')
  t.like(ofAcme.json, [{ name: 'Of acme' }], ofAcme.text)
  await register(adminLogin, adminPassword, 'This site')
  const ofSite = await fixture.as('admin', 'GET', '/accounts/admin/applications/oauth2')
  t.regex(ofSite.text, /Of This site/)
})

test.serial('a person registers an application and withdraws a consent on the account page', async (t) => {
  await fixture.tokensFor(await fixture.register('ada', { name: 'Reader' }), 'cleo', 'openid profile')
  const { page } = await open(`${fixture.service.baseUrl}/account`, phone)
  await signInOn(page, 'cleo', password)
  await page.locator('#parts:not([hidden])').waitFor()
  await page.locator('#consents button', { hasText: 'Withdraw' }).click()
  await page.getByText('No application has access.').waitFor()
  await page.locator('#application-name').fill('Wiki')
  await page.locator('#application-redirects').fill('https://wiki.example.com/callback')
  await page.locator('#application-form button').click()
  await page.locator('#new-application:not([hidden])').waitFor()
  t.regex(await page.locator('#new-application-text').innerText(), /Client secret: \w{43}/)
  await page.locator('#applications button', { hasText: 'New secret' }).click()
  await page.getByText('The former secret is valid for one more day.').waitFor()
  t.deepEqual(await violationsOf(page), [])
  t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
  await page.locator('#applications button', { hasText: 'Remove' }).click()
  await page.getByText('No application.', { exact: true }).waitFor()
  await page.context().close()
})
