import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { chromium as launcher } from 'playwright-core'
import { chromium } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'

const test = needing('chromium')

let service: TestService
let browser: Browser
test.before(async () => {
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' } })
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']
  browser = await launcher.launch({ executablePath: (await chromium()) as string, args })
})
test.after.always(async () => {
  await browser?.close()
  await service?.stop()
})

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

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
  page.on('console', (message) => message.type() === 'error' && opened.problems.push(message.text()))
  await page.goto(service.baseUrl + path)
  return opened
}

/** Opens an operation of the list and waits until it is drawn. */
const openOperation = async (page: Page, id: string): Promise<void> => {
  await page.locator(`details[data-operation="${id}"] > summary`).click()
  await page.locator(`article[data-shown="${id}"]`).waitFor()
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

for (const [device, options] of [
  ['a desktop', { viewport: { width: 1280, height: 900 } }],
  ['a phone in dark mode', { viewport: { width: 375, height: 800 }, colorScheme: 'dark' }],
] as const)
  test(`the documentation page on ${device} is narrow enough and has no fault of accessibility`, async (t) => {
    // axe itself is an inline script.
    const { page } = await openPage('/api/v1/docs', { ...options, bypassCSP: true })
    await openOperation(page, 'authz.createRole')
    await page.addScriptTag({ content: axe })
    const violations = await page.evaluate<readonly Violation[]>('axe.run(document).then((result) => result.violations)')
    t.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), [])
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
  await page.locator('#username').fill(adminLogin)
  await page.locator('#password').fill(adminPassword)
  await page.locator('#sign-in-form button').click()
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
