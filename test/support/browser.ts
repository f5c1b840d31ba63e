import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { chromium as launcher } from 'playwright-core'
import { chromium } from './components/available.ts'

/** Starts the Chromium of the tests without any traffic of its own. The caller closes it. */
export const launchBrowser = async (): Promise<Browser> => {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ]
  return launcher.launch({ executablePath: (await chromium()) as string, args })
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/**
 * Returns the faults of accessibility that axe finds, each with its first element. The context of the page must bypass
 * the policy of the page: axe is an inline script.
 */
export const violationsOf = async (page: Page): Promise<readonly string[]> => {
  await page.addScriptTag({
    content: readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
  })
  const violations = await page.evaluate<readonly Violation[]>('axe.run(document).then((result) => result.violations)')
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

/** Signs in on the page that shows the form. */
export const signInOn = async (page: Page, login: string, password: string): Promise<void> => {
  await page.locator('#username').fill(login)
  await page.locator('#sign-in-button').click()
  await page.locator('#password').fill(password)
  await page.locator('#sign-in-button').click()
}

/**
 * A script for pages with a virtual authenticator, which answers the request of autofill at any moment: without it, a
 * page may sign in by itself.
 */
export const withoutAutofill =
  'if (globalThis.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false'
