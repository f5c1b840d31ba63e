// process: waiting - uses components
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser, signInOn, violationsOf, withoutAutofill } from '../support/browser.ts'
import { needing } from '../support/components/needing.ts'
import { passkeySettings } from '../identity/passkeys/passkey-service.ts'
import type { DirectoryFixture } from './directory.fixture.ts'
import { groups, people, startDirectoryFixture } from './directory.fixture.ts'

const test = needing('chromium', 'slapd')
const password = 'quiet-lantern-over-water-17'

let fixture: DirectoryFixture
let browser: Browser
test.before(async () => {
  fixture = await startDirectoryFixture({ settings: await passkeySettings() })
  await fixture.connect('site', { allows_creation: true, display_name: 'Staff of Acme' })
  browser = await launchBrowser()
  const body = { username: 'olav', email: 'olav@acme.test', password, must_change_password: false }
  await fixture.as('admin', 'POST', '/admin/users', body)
  await fixture.as('admin', 'PUT', `/teams/${await fixture.teamId('Owners')}/members/olav`)
})
test.after.always(async () => {
  await browser?.close()
  await fixture?.stop()
})

const open = async (path: string, options: BrowserContextOptions = {}): Promise<{ page: Page; problems: string[] }> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4/.test(message.text())) problems.push(message.text())
  })
  await page.goto(fixture.service.baseUrl + path)
  return { page, problems }
}

const person = (sub: string): void => {
  fixture.addPerson({ sub, email: `${sub}@corp.test`, email_verified: true, preferred_username: sub })
  fixture.provider.as = sub
}

for (const path of ['/identity-providers', '/account'])
  test.serial(`${path} of a signed-in owner is narrow enough on a phone`, async (t) => {
    const { page } = await open(path, { viewport: { width: 375, height: 800 }, colorScheme: 'dark', bypassCSP: true })
    await signInOn(page, 'olav', password)
    await page.locator('#parts:not([hidden])').waitFor()
    await page.waitForTimeout(500)
    t.deepEqual(await violationsOf(page), [])
    t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 375)
    await page.context().close()
  })

test.serial('a person signs in by the button of a provider, and out at the provider too', async (t) => {
  person('paul')
  const { page, problems } = await open('/sign-in')
  await page.locator('#provider-buttons button', { hasText: 'Staff of Acme' }).click()
  await page.locator('#account:not([hidden])').waitFor()
  t.is(await page.locator('#login').innerText(), 'paul')
  t.is(new URL(page.url()).pathname, '/sign-in')
  t.deepEqual(problems, [])
  await page.locator('#sign-out').click()
  await page.waitForURL(/session\/end/)
  await page.context().close()
})

test.serial('a sign-in that begins at the provider ends at the account', async (t) => {
  person('petra')
  const { page } = await open(`/user/oauth2/1?iss=${encodeURIComponent(fixture.provider.issuer)}`)
  await page.locator('#account:not([hidden])').waitFor()
  t.is(await page.locator('#login').innerText(), 'petra')
  await page.context().close()
})

test.serial('a refused answer shows its sentence and the way back', async (t) => {
  const { page } = await open('/user/oauth2/1/callback?state=unknown&code=x')
  await page.locator('#again:not([hidden])').waitFor()
  t.regex(await page.locator('#message').innerText(), /Begin again on the sign-in page/)
  t.is(new URL(page.url()).search, '')
  await page.context().close()
})

test.serial('an owner connects a provider, and a person of its domain signs in there', async (t) => {
  const { page, problems } = await open('/identity-providers', { bypassCSP: true })
  await signInOn(page, 'olav', password)
  await page.locator('#of-organization:not([hidden])').waitFor()
  t.deepEqual(await violationsOf(page), [])
  await page.locator('#provider-name').fill('corporate')
  await page.locator('#provider-display').fill('Acme login')
  await page.locator('#provider-issuer').fill(fixture.provider.issuer)
  await page.locator('#provider-client').fill('moorage')
  await page.locator('#provider-secret').fill('s3cret-s3cret-s3cret-s3cret-12345')
  await page.locator('#provider-creates').check()
  await page.locator('#provider-claim').fill('groups')
  await page.locator('#provider-rules').fill('/staff = Viewers')
  await page.locator('#provider-form button').click()
  await page.locator('#provider-list li', { hasText: 'Acme login' }).waitFor()
  t.regex(await page.locator('#registered-text').innerText(), /\/user\/oauth2\/\d+\/callback/)
  await page.getByRole('button', { name: 'Check: corporate' }).click()
  await page.locator('#message', { hasText: 'answers as it should' }).waitFor()
  fixture.provenDomains.add('acme.test')
  await page.locator('#domain').fill('acme.test')
  await page.locator('#domain-form button').click()
  await page.getByRole('button', { name: 'Verify: acme.test' }).click()
  await page.locator('#domains li', { hasText: ', verified' }).waitFor()
  t.deepEqual(problems, [])
  await page.context().close()

  fixture.addPerson({ sub: 'staff1', email: 'sara@acme.test', preferred_username: 'sara', groups: ['/staff'] })
  fixture.provider.as = 'staff1'
  const other = await open('/sign-in')
  await other.page.locator('#username').fill('sara@acme.test')
  await other.page.locator('#sign-in-button').click()
  await other.page.locator('#account:not([hidden])').waitFor()
  t.is(await other.page.locator('#login').innerText(), 'sara')
  await other.page.context().close()
})

test.serial('an owner connects a directory, and a person of it signs in', async (t) => {
  const { page, problems } = await open('/identity-providers', { bypassCSP: true })
  await signInOn(page, 'olav', password)
  await page.locator('#of-organization:not([hidden])').waitFor()
  const { tlsPort, reader, authority } = fixture.slapd
  await page.locator('#provider-name').fill('directory')
  await page.locator('#provider-type').selectOption('ldap')
  await page.locator('#provider-issuer').fill(`ldaps://localhost:${tlsPort}`)
  await page.locator('#provider-client').fill(reader.dn)
  await page.locator('#provider-secret').fill(reader.password)
  await page.locator('#directory-base').fill(people)
  await page.locator('#directory-groups').fill(groups)
  await page.locator('#directory-authorities').fill(authority)
  await page.locator('#provider-creates').check()
  await page.locator('#provider-rules').fill(`cn=staff,${groups} = Viewers`)
  t.deepEqual(await violationsOf(page), [])
  await page.locator('#provider-form button[type=submit]').click()
  await page.locator('#provider-list li', { hasText: 'directory' }).waitFor()
  await fixture.slapd.addGroup('staff', [await fixture.slapd.addPerson('dora', { mail: 'dora@acme.test' })])
  await page.getByRole('button', { name: 'Check: directory' }).click()
  await page.locator('#message', { hasText: 'answers as it should' }).waitFor()
  t.deepEqual(problems, [])
  const listed = await fixture.as('ada', 'GET', '/orgs/acme/identity-providers')
  const id = (listed.json as { id: number; name: string }[]).find(({ name }) => name === 'directory')?.id
  await page.context().close()

  const other = await open(`/user/oauth2/${id}`, { viewport: { width: 375, height: 800 }, bypassCSP: true })
  await other.page.locator('#password-form:not([hidden])').waitFor()
  t.deepEqual(await violationsOf(other.page), [])
  await other.page.locator('#username').fill('dora')
  await other.page.locator('#password').fill('wrong')
  await other.page.keyboard.press('Enter')
  await other.page.locator('#message', { hasText: 'does not accept this name and password' }).waitFor()
  await other.page.keyboard.type('password of dora')
  await other.page.keyboard.press('Enter')
  await other.page.locator('#account:not([hidden])').waitFor()
  t.is(await other.page.locator('#login').innerText(), 'dora')
  t.deepEqual(other.problems, [])
  await other.page.context().close()
})

for (const path of ['/sign-in', '/identity-providers', '/user/oauth2/1/callback', '/user/oauth2/99'])
  for (const [device, options] of [
    ['a desktop', { viewport: { width: 1280, height: 900 } }],
    ['a phone in dark mode', { viewport: { width: 375, height: 800 }, colorScheme: 'dark' }],
  ] as const)
    test.serial(`${path} on ${device} is narrow enough and has no fault of accessibility`, async (t) => {
      const { page } = await open(path, { ...options, bypassCSP: true })
      await page.locator('main').waitFor()
      await page.waitForTimeout(300)
      t.deepEqual(await violationsOf(page), [])
      t.true((await page.evaluate<number>('document.documentElement.scrollWidth')) <= options.viewport.width)
      await page.context().close()
    })

test.serial('a passkey is the second factor after the provider, and proves a link', async (t) => {
  person('petra')
  const { page, problems } = await open('/account', { viewport: { width: 375, height: 800 }, bypassCSP: true })
  await page.addInitScript(withoutAutofill)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const answersAtOnce = (enabled: boolean) =>
    devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
  const enter = async () => {
    await page.goto(`${fixture.service.baseUrl}/sign-in`)
    await page.locator('#provider-buttons button').click()
    await page.locator('#account:not([hidden])').waitFor()
  }
  await enter()
  // It ends the session.
  await fixture.as('admin', 'PATCH', '/admin/users/petra', { password, must_change_password: false })
  await enter()
  await page.goto(`${fixture.service.baseUrl}/account`)
  await page.locator('#parts:not([hidden])').waitFor()
  await page.locator('#passkey-name').fill('Laptop')
  await page.locator('#passkey-password').fill(password)
  await page.locator('#passkey-form button').click()
  await page.locator('#passkeys li', { hasText: 'Laptop' }).waitFor()
  await page.locator('#link-act').selectOption('unlink')
  await page.locator('#link-form button').click()
  await page.locator('#message', { hasText: 'The link is removed.' }).waitFor()
  await page.locator('#link-act').selectOption('link')
  await answersAtOnce(true)
  await page.locator('#link-form button').click()
  await page.locator('#links li', { hasText: 'Staff of Acme' }).waitFor()
  await answersAtOnce(false)
  await page.context().clearCookies()
  await page.goto(`${fixture.service.baseUrl}/sign-in`)
  await page.locator('#provider-buttons button').waitFor()
  await page.locator('#provider-buttons button').click()
  await page.locator('#code-form:not([hidden])').waitFor()
  t.deepEqual(await violationsOf(page), [])
  await answersAtOnce(true)
  await page.locator('#passkey-factor').click()
  await page.locator('#account:not([hidden])').waitFor()
  t.is(await page.locator('#login').innerText(), 'petra')
  t.deepEqual(problems, [])
  await page.context().close()
})
