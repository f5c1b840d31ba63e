import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser, signInOn, violationsOf } from '../support/browser.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

/** A page of the console, with what went wrong in it. */
interface OpenedConsole {
  readonly page: Page
  /** Errors of scripts, reports of the content security policy, and refused requests, but those that were announced. */
  readonly problems: string[]
  /** Expects refusals with these statuses from now on. */
  expect(...statuses: readonly number[]): void
  close(): Promise<void>
}

/** One service and one browser, for a file of tests of the console. */
export interface ConsoleFixture {
  readonly service: TestService
  /** Of every user. */
  readonly password: string
  /** Creates a user. */
  addUser(login: string, fullName?: string): Promise<void>
  /** Opens a view as a user, who signs in on the page that the console leads to. */
  open(login: string, path: string, options?: BrowserContextOptions): Promise<OpenedConsole>
  stop(): Promise<void>
}

const password = 'rowing across 7 lakes'

/**
 * Starts a service with these settings, on the data of another one if they name its folder; `passwords` are those of
 * users that exist.
 */
export const startConsole = async (
  settings: Readonly<Record<string, string>> = {},
  passwords: ReadonlyMap<string, string> = new Map(),
): Promise<ConsoleFixture> => {
  const service = await startService({
    settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_BILLING_ENABLED: 'true', ...settings },
  })
  const browser: Browser = await launchBrowser()
  /** What a browser keeps of a session, by login: signing in once is enough. */
  const sessions = new Map<string, Awaited<ReturnType<Awaited<ReturnType<Browser['newContext']>>['storageState']>>>()
  return {
    service,
    password,
    async addUser(login, fullName = '') {
      const body = {
        username: login,
        email: `${login}@example.com`,
        full_name: fullName,
        password,
        must_change_password: false,
      }
      await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
    },
    async open(login, path, options = {}) {
      const kept = sessions.get(login)
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        ...(kept === undefined ? {} : { storageState: kept }),
        ...options,
      })
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
      const problems: string[] = []
      // Without a session the console asks who the caller is, and so does the sign-in page.
      const expected = new Set<number>(kept === undefined ? [401] : [])
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => {
        const refused = /status of (\d+)/.exec(message.text())
        if (message.type() === 'error' && !(refused !== null && expected.has(Number(refused[1]))))
          problems.push(message.text())
      })
      await page.goto(`${service.baseUrl}${path}`)
      if (kept === undefined) {
        await page.waitForURL(/\/sign-in$/)
        await signInOn(page, login, passwords.get(login) ?? password)
        await page.waitForURL(`${service.baseUrl}${path}`)
        await page.locator('h1').waitFor()
        sessions.set(login, await context.storageState())
        expected.delete(401)
      }
      await page.locator('h1').waitFor()
      return {
        page,
        problems,
        expect: (...statuses) => statuses.forEach((status) => expected.add(status)),
        close: async () => context.close(),
      }
    },
    async stop() {
      await browser.close()
      await service.stop()
    },
  }
}

/** What a view shows when it is complete. */
export const heading = (name: string) => async (page: Page) => page.getByRole('heading', { name }).waitFor()
export const cell = (name: string) => async (page: Page) => page.getByRole('cell', { name }).first().waitFor()

/** A view to check, and what it shows when it is complete. */
type CheckedView = readonly [path: string, ready: (page: Page) => Promise<unknown>]

/** Returns why a view does not fit, and its faults of accessibility. */
const faultsNow = async (page: Page, width: number): Promise<readonly string[]> => [
  ...(await violationsOf(page)),
  ...(Number(await page.evaluate('document.documentElement.scrollWidth')) > width
    ? ['it is wider than the screen']
    : []),
]

interface Look {
  readonly name: string
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
  readonly dir?: 'rtl'
}

/** Each width, color scheme and direction once. */
const fewLooks: readonly Look[] = [
  { name: 'a desktop', width: 1280, colorScheme: 'light' },
  { name: 'a dark phone, right to left', width: 320, colorScheme: 'dark', dir: 'rtl' },
]

/** Both color schemes at both widths. */
export const allLooks: readonly Look[] = [
  ...fewLooks,
  { name: 'a dark desktop', width: 1280, colorScheme: 'dark' },
  { name: 'a light phone', width: 375, colorScheme: 'light' },
  { name: 'a dark phone', width: 375, colorScheme: 'dark' },
]

/** Returns the faults of accessibility of views, and where they do not fit. */
export const faultsOfViews = async (
  fixture: ConsoleFixture,
  login: string,
  views: readonly CheckedView[],
  looks = fewLooks,
): Promise<readonly string[]> => {
  const faults: string[] = []
  const opened = await fixture.open(login, '/console/', { bypassCSP: true })
  const { page } = opened
  for (const [path, ready] of views) {
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`${fixture.service.baseUrl}${path}`)
    await ready(page)
    for (const { name, width, colorScheme, dir = 'ltr' } of looks) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(`document.documentElement.dir = '${dir}'`)
      faults.push(...(await faultsNow(page, width)).map((fault) => `${path} on ${name}: ${fault}`))
    }
    faults.push(...opened.problems.splice(0).map((problem) => `${path}: ${problem}`))
  }
  await opened.close()
  return faults
}
