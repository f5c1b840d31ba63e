// process: waiting - uses components
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser, signInOn, violationsOf, withoutAutofill } from '../../support/browser.ts'
import { needing } from '../../support/components/needing.ts'
import type { TestService } from '../../support/service.ts'
import { startPasskeyService } from './passkey-service.ts'

const test = needing('chromium')

const password = 'rowing across 7 lakes'
let service: TestService
let browser: Browser
test.before(async () => {
  service = await startPasskeyService()
  browser = await launchBrowser()
})
test.after.always(async () => {
  await browser?.close()
  await service?.stop()
})

const makeUser = async (username: string): Promise<void> => {
  const body = { username, email: `${username}@example.com`, password, must_change_password: false }
  const made = await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
}

/** Opens a page in a browser with an authenticator inside the device, which verifies its user at once. */
interface PageOptions extends BrowserContextOptions {
  /** The virtual authenticator answers the request of autofill at once, as if a user had chosen. */
  readonly autofills?: boolean
}

const openPage = async (path: string, { autofills = false, ...options }: PageOptions = {}) => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  if (!autofills) await page.addInitScript(withoutAutofill)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on(
    'console',
    (message) =>
      message.type() === 'error' && !/status of 40[15]/.test(message.text()) && problems.push(message.text()),
  )
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const verifiesUser = (isUserVerified: boolean) =>
    devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
  await page.goto(service.baseUrl + path)
  return { page, problems, verifiesUser }
}

const leave = async (page: Page): Promise<void> => {
  await page.locator('#leave').press('Enter')
  await page.locator('#sign-in-form:not([hidden])').waitFor()
}

const done = (page: Page, text: string): Promise<void> => page.locator('#message', { hasText: text }).waitFor()

const addPasskey = async (page: Page, login: string, name: string): Promise<void> => {
  await signInOn(page, login, password)
  await page.locator('#parts:not([hidden])').waitFor()
  await page.locator('#passkey-name').fill(name)
  await page.locator('#passkey-password').fill(password)
  await page.locator('#passkey-form button').click()
  await page.locator('#recovery:not([hidden])').waitFor()
  await page.locator('#passkeys li', { hasText: name }).waitFor()
}

test('a user adds a passkey, signs in with it, and removes it with a passkey as proof', async (t) => {
  await makeUser('paula')
  const { page, problems } = await openPage('/account')
  await addPasskey(page, 'paula', 'Laptop')
  await leave(page)
  await page.locator('#passkey-sign-in').click()
  await page.locator('#parts:not([hidden])').waitFor()
  t.regex(await page.locator('#passkeys').innerText(), /Laptop, added .*, last used /)
  await page.locator('#passkeys button.danger').click()
  await done(page, 'The passkey is removed.')
  await page.locator('#passkeys li', { hasText: 'No passkeys.' }).waitFor()
  t.deepEqual(problems, [])
  await page.context().close()
})

test('a passkey replaces the code after the password', async (t) => {
  await makeUser('petra')
  const { page, problems } = await openPage('/account')
  await addPasskey(page, 'petra', 'Laptop')
  await leave(page)
  await signInOn(page, 'petra', password)
  await page.locator('#code-form:not([hidden])').waitFor()
  await page.locator('#passkey-factor').click()
  await page.locator('#parts:not([hidden])').waitFor()
  t.deepEqual(problems, [])
  await page.context().close()
})

test('the autofill of the name offers passkeys', async (t) => {
  await makeUser('peggy')
  const { page, problems } = await openPage('/account', { autofills: true })
  await addPasskey(page, 'peggy', 'Laptop')
  const signedIn = page.waitForResponse(/signin\/passkey$/)
  await page.locator('#leave').click()
  t.is((await signedIn).status(), 200)
  await page.locator('#parts:not([hidden])').waitFor()
  t.deepEqual(problems, [])
  await page.context().close()
})

test('a passkey is renamed on the account page', async (t) => {
  await makeUser('pilar')
  const { page, problems } = await openPage('/account')
  await addPasskey(page, 'pilar', 'Laptop')
  await page.getByRole('button', { name: 'Rename: Laptop' }).click()
  t.is(await page.evaluate<string>('document.activeElement.id'), 'passkey-new-name')
  await page.locator('#passkey-new-name').fill('Office laptop')
  await page.keyboard.press('Enter')
  await done(page, 'The passkey is renamed.')
  await page.locator('#passkeys li', { hasText: 'Office laptop' }).waitFor()
  t.is(await page.locator('#rename-form:not([hidden])').count(), 0)
  t.deepEqual(problems, [])
  await page.context().close()
})

test('an authenticator that does not verify its user is of no use on the pages', async (t) => {
  await makeUser('pia')
  const { page, verifiesUser } = await openPage('/account')
  await addPasskey(page, 'pia', 'Laptop')
  await verifiesUser(false)
  await page.locator('#passkey-name').fill('Second')
  await page.locator('#passkey-form button').click()
  await done(page, 'No passkey was used.')
  await page.locator('#leave').click()
  await page.locator('#passkey-sign-in').click()
  await done(page, 'No passkey was used.')
  t.is(await page.locator('#parts:not([hidden])').count(), 0)
  await page.context().close()
})

test('the passkey controls work with the keyboard alone', async (t) => {
  await makeUser('kira')
  const { page } = await openPage('/account')
  await addPasskey(page, 'kira', 'Laptop')
  await leave(page)
  await page.locator('#sign-in-form button[type=submit]').focus()
  await page.keyboard.press('Tab')
  t.is(await page.evaluate<string>('document.activeElement.id'), 'passkey-sign-in')
  await page.keyboard.press('Enter')
  await page.locator('#parts:not([hidden])').waitFor()
  await page.context().close()
})

for (const [device, login, options] of [
  ['a desktop', 'dora', { viewport: { width: 1280, height: 900 } }],
  ['a phone in dark mode', 'dana', { viewport: { width: 375, height: 800 }, colorScheme: 'dark' }],
] as const)
  test(`the pages with passkeys on ${device} are narrow enough and accessible`, async (t) => {
    await makeUser(login)
    const { page } = await openPage('/account', { ...options, bypassCSP: true })
    await page.locator('#passkey-sign-in').waitFor()
    t.deepEqual(await violationsOf(page), [])
    await addPasskey(page, login, 'A passkey with a name that is about as long as a line of a phone')
    t.deepEqual(await violationsOf(page), [])
    t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= options.viewport.width)
    await page.locator('#leave').click()
    await page.locator('#passkey-sign-in').waitFor()
    await page.context().close()
  })
