// process: own - runs threads and programs within limits
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import { fastJsonPatches } from '../../adapters/charts/json-patches.ts'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import { composeValues, storedValues } from '../../core/packages/charts/values.ts'
import { checkValues } from '../../core/packages/releases/preflight.ts'
import { chartTexts } from '../packages/texts.ts'
import { templateAnswer } from '../support/charts/helm-template.ts'
import { needing } from '../support/components/needing.ts'
import { unwrap } from '../support/outcome.ts'
import { commands, runners, tools, work } from './check-values.fixture.ts'
import type { PublishedChart } from './published-charts.ts'
import { publishedCharts } from './published-charts.ts'

const test = needing('helm')

const readers = { chartTexts, patches: fastJsonPatches }
const never = new AbortController().signal

/** Objects as texts, in an order of their own: ours come in two lists. */
const objectsIn = (texts: readonly string[]): readonly string[] =>
  texts
    .flatMap((text) => unwrap(kubernetesYamlText.parseAll(text)))
    .map((object) => toWireJson(object))
    .sort()

/** What the service renders of a chart, as for a dry run by the client, or why it does not. */
const rendered = async ({ archive, values: text }: PublishedChart): Promise<readonly string[] | string> => {
  const chart = await readChart(archive, archiveLimits)
  const values = storedValues(chart, unwrap(await composeValues(readers, chart, { valueTexts: [text] })))
  const client = { ...work, flags: { dryRun: 'client' as const } }
  const helm = runners.get('helm4')!
  const checked = await checkValues({ helm, chartTools: tools }, client, { chart, values }, never)
  if (isLeft(checked)) return checked.left.message
  const made = await helm.template(client, { archive: await tools.pack(chart), values }, never)
  return isLeft(made)
    ? made.left.message
    : objectsIn([made.right.manifest, ...made.right.hooks.map((hook) => String(hook['manifest']))])
}

const byHelm = async ({ archive, values }: PublishedChart): Promise<readonly string[] | string> => {
  const { status, stdout, stderr } = await templateAnswer(commands.helm4, work.release.name, {
    archive,
    values: toWireJson((unwrap(kubernetesYamlText.parse(values)) ?? {}) as FreeObject),
    words: [`--namespace=${work.release.namespace}`],
  })
  return status === 0 ? objectsIn([stdout]) : stderr
}

test('charts with the features of published ones are rendered as by helm alone', async (t) => {
  const charts = await publishedCharts()
  t.true(charts.size >= 30)
  const withoutObjects: string[] = []
  for (const [title, chart] of charts) {
    const [ours, helms] = await Promise.all([rendered(chart), byHelm(chart)])
    if (typeof helms === 'string') {
      withoutObjects.push(title)
      t.true(
        typeof ours === 'string' && helms.includes(ours.slice(ours.lastIndexOf(': ') + 2)),
        `${title}: ${String(ours)}`,
      )
    } else {
      t.true(helms.length > 0, title)
      t.deepEqual(ours, helms, title)
    }
  }
  t.deepEqual(withoutObjects, ['a value that is required'])
})
