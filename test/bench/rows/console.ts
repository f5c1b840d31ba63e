import type { Page } from 'playwright-core'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { launchBrowser, signInOn } from '../../support/browser.ts'
import { callApi } from '../api-calls.ts'
import type { Bar } from '../bars.ts'
import { bars } from '../bars.ts'
import { median } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow } from './row.ts'

const entries = 10_000
const rounds = 7
const org = 'bench-fleet'

/** Writes clusters and teams of an organization behind the back of the service. */
const fill = async (url: string, orgId: number): Promise<void> => {
  const database = await openDatabase(url)
  const at = Date.now()
  const insert = (into: string, columns: string) =>
    database.query((k) =>
      k.raw(
        `insert into ${into} select ${columns} from ` +
          `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${entries}) select i from n) as n`,
      ),
    )
  await insert(
    'clusters (owner_id, name, display_name, uid, provider, endpoint, kubernetes_version, node_count, phase, ref, created_at)',
    `${orgId}, 'cluster-' || i, 'Cluster ' || i, 'uid-' || i, 'Generic', 'https://192.0.2.1:6443', 'v1.34.2', i % 90, ` +
      `'Active', printf('%036d', i), ${at} - i`,
  )
  await insert(
    'teams (org_id, name, lower_name, permission, created_at)',
    `${orgId}, 'team-' || i, 'team-' || i, 'read', ${at}`,
  )
  await database.close()
}

/** When the largest element was painted: the home screen, not the word that it loads. */
const largestPaint = `new Promise((resolve) =>
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
    type: 'largest-contentful-paint',
    buffered: true,
  }))`

/** The time from the last answer after a click to the next frame in which the screen is there. */
const timeTo = `async ([link, shown]) => {
  const from = performance.now()
  performance.clearResourceTimings()
  document.querySelector(link).click()
  while (!document.querySelector(shown)) await new Promise((resolve) => requestAnimationFrame(resolve))
  await new Promise((resolve) => requestAnimationFrame(resolve))
  const drawn = performance.now()
  const answers = performance.getEntriesByType('resource').map(({ responseEnd }) => responseEnd)
  return drawn - Math.max(from, ...answers)
}`

const afterData = (page: Page, link: string, shown: string): Promise<number> =>
  page.evaluate<number>(`(${timeTo})(${JSON.stringify([link, shown])})`)

/** The longest delay of a key until the next paint, of those of a word that is typed. */
const typingDelay = async (page: Page, word: string): Promise<number> => {
  await page.evaluate(`globalThis.delays = [];
    globalThis.observer ??= new PerformanceObserver((list) => globalThis.delays.push(...list.getEntries().map(({ duration }) => duration)));
    globalThis.observer.observe({ type: 'event', durationThreshold: 16 })`)
  await page.getByRole('searchbox').pressSequentially(word, { delay: 120 })
  await page.waitForTimeout(500)
  return page.evaluate<number>('Math.max(0, ...globalThis.delays)')
}

const line = (what: string, times: readonly number[], bar: Bar): BenchLine => ({
  row: '43',
  what,
  ours: {},
  against: '-',
  value: median(times),
  bestValue: Math.min(...times),
  unit: ' ms',
  bar,
  note: `median of ${times.length}, ${Math.round(Math.max(...times))} ms at most`,
})

/** Row 43: what a person waits for in the console. */
export const consoleScreens: MeasureRow = async ({ lab, bench }) => {
  const { service, user, path } = await lab.onSqlite()
  const made = await callApi(service, '/orgs', { authorization: `Bearer ${user.token}`, body: { username: org } })
  await fill(`sqlite:${path}`, Number((made as { readonly id: unknown }).id))
  bench.progress.doing('opening the console')
  const browser = await launchBrowser()
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    const page = await context.newPage()
    await page.goto(`${service.baseUrl}/console/`)
    await page.waitForURL(/\/sign-in$/)
    await signInOn(page, user.login, user.password)
    await page.locator('h1').waitFor()
    const [paints, opened, paged, whole]: [number[], number[], number[], number[]] = [[], [], [], []]
    const state = await context.storageState()
    for (let round = 0; round < rounds; round += 1) {
      bench.progress.doing(`round ${round + 1} of ${rounds} in the browser`)
      // Nothing is cached in a context of its own.
      const cold = await browser.newContext({ viewport: { width: 1280, height: 900 }, storageState: state })
      const first = await cold.newPage()
      await first.goto(`${service.baseUrl}/console/`)
      await first.locator('h1').waitFor()
      await first.waitForLoadState('networkidle')
      paints.push(await first.evaluate<number>(largestPaint))
      await cold.close()
      await page.goto(`${service.baseUrl}/console/o/${org}/members`)
      await page.locator('tbody tr').first().waitFor()
      opened.push(await afterData(page, `a[href$="/o/${org}/clusters"]`, 'a[href$="/clusters/cluster-1"]'))
      paged.push(await typingDelay(page, 'cluster-99'))
      await page.goto(`${service.baseUrl}/console/o/${org}/teams`)
      await page.locator('tbody tr').first().waitFor()
      whole.push(await typingDelay(page, 'team-99'))
    }
    return [
      line('home screen painted, nothing cached', paints, bars.firstPaint),
      line('a screen of clusters after its data', opened, bars.screen),
      line(`a key in the search of ${entries} clusters`, paged, bars.interaction),
      line(`a key in the search of ${entries} teams, read whole`, whole, bars.interaction),
    ]
  } finally {
    await browser.close()
  }
}
