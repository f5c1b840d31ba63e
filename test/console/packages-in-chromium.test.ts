// process: waiting - uses components
import { chartFrom } from '../packages/chart-archive.ts'
import type { ChartServer } from '../packages/chart-server.ts'
import { startCharts } from '../packages/package-fixture.ts'
import { helm } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startFakeApi } from '../support/fake-api.ts'
import type { ConsoleFixture } from './console.fixture.ts'
import { cell, faultsOfViews, heading, startConsole } from './console.fixture.ts'

const test = needing('chromium', 'helm')

const anchor = (version: string) =>
  chartFrom({
    'Chart.yaml': `apiVersion: v2\nname: anchor\nversion: ${version}\nappVersion: "7"\ndescription: Holds a ship\n`,
    'values.yaml': 'depth: 10\nrope:\n  color: red\n  isLong: false\n',
    'values.schema.json': JSON.stringify({
      type: 'object',
      properties: {
        depth: { type: 'integer', minimum: 1, title: 'Depth', description: 'In metres' },
        rope: {
          type: 'object',
          properties: { color: { type: 'string', enum: ['red', 'blue'] }, isLong: { type: 'boolean' } },
        },
      },
    }),
    'templates/map.yaml': [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata: {name: {{ .Release.Name }}-map}',
      'data:',
      '  depth: {{ .Values.depth | quote }}',
      '  color: {{ .Values.rope.color | quote }}',
      '',
    ].join('\n'),
  })

let fixture: ConsoleFixture
let cluster: Awaited<ReturnType<typeof startFakeApi>>
let charts: ChartServer
test.before(async () => {
  const served = await startCharts(await anchor('1.0.0'), await anchor('1.1.0'))
  charts = served.charts
  const binaries = await helm()
  cluster = await startFakeApi()
  fixture = await startConsole({ ...served.settings, MOORAGE_HELM: binaries?.helm4 ?? 'off' })
  await fixture.addUser('pia', 'Pia Package')
  const token = await fixture.service.tokenFor('pia')
  await fixture.service.send('POST', '/api/v1/orgs', { token, body: { username: 'acme' } })
  const body = { basicInfo: { name: 'one' }, provider: { accessConfig: cluster.kubeconfig() } }
  await fixture.service.send('POST', '/api/v1/clustersv2/acme/import', { token, body })
})
test.after.always(async () => {
  await fixture?.stop()
  await cluster?.stop()
  await charts?.stop()
})

test.serial('a chart is found, previewed, installed, upgraded and rolled back', async (t) => {
  const { page, problems, close } = await fixture.open('pia', '/console/o/acme/packages')
  await page.getByRole('button', { name: 'Add a repository' }).click()
  await page.getByLabel('Name', { exact: true }).fill('harbour')
  await page.getByLabel('Address').fill(charts.url)
  await page.locator('dialog').getByRole('button', { name: 'Add a repository' }).click()
  await page.getByRole('link', { name: 'harbour' }).click()
  await page.getByRole('link', { name: 'anchor' }).click()
  await page.getByLabel('Version', { exact: true }).selectOption('1.0.0')
  await page.getByLabel('Depth', { exact: true }).fill('25')
  await page.getByLabel('Namespace', { exact: false }).first().fill('default')
  await page.getByLabel('More values, as YAML').fill('rope:\n  color: blue\n')

  await page.getByRole('button', { name: 'Show what would change' }).click()
  await page.getByText('+  depth: "25"').waitFor()
  await page.getByText('+  color: blue').waitFor()
  const previewed = page.url()
  await page.getByRole('button', { name: 'Install', exact: true }).click()
  // The progress survives a reload: the task is in the address.
  await page.waitForURL((url) => url.href !== previewed)
  await page.reload()
  await page.locator('.task .badge', { hasText: 'Succeeded' }).waitFor()

  await page.goto(`${fixture.service.baseUrl}/console/o/acme/clusters/one/releases`)
  await page.getByRole('link', { name: 'anchor' }).click()
  await page.getByText('"depth": 25').waitFor()
  await page.getByRole('button', { name: 'Upgrade' }).click()
  await page.locator('dialog').getByRole('link', { name: 'harbour' }).click()
  await page.getByRole('heading', { name: 'Upgrade anchor' }).waitFor()
  await page.getByRole('button', { name: 'Upgrade' }).click()
  await page.locator('.task .badge', { hasText: 'Succeeded' }).waitFor()
  await page.getByRole('link', { name: 'Open the release' }).click()
  await page.getByRole('button', { name: 'Roll back to revision 1' }).click()
  await page.getByRole('cell', { name: '3', exact: true }).waitFor()
  t.deepEqual(problems, [])
  await close()
})

test.serial('the screens of packages are accessible on each device', async (t) => {
  const faults = await faultsOfViews(fixture, 'pia', [
    ['/console/o/acme/packages', cell('harbour')],
    ['/console/o/acme/packages/harbour', cell('anchor')],
    ['/console/o/acme/packages/harbour/anchor', async (page) => page.getByLabel('Depth').waitFor()],
    ['/console/o/acme/clusters/one/releases', cell('anchor')],
    ['/console/o/acme/clusters/one/releases/default/anchor', heading('Values')],
    ['/console/o/acme/tasks', cell('Install release anchor')],
  ])
  t.deepEqual(faults, [])
})
