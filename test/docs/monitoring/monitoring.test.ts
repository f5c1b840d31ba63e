// process: waiting - uses components
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { promtool } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { runCommand } from '../../support/components/run-command.ts'
import { fromRoot } from '../asvs-table.ts'
import { alerts } from './alerts.ts'
import { rows } from './dashboard.ts'
import { unknownMetrics } from './metric-list.ts'
import { goodDaySeries, incidentsYaml, monitoringFiles, runbookParagraphs } from './monitoring-files.ts'

test('files under deploy/monitoring equal the output of npm run docs:monitoring', async (t) => {
  for (const [file, text] of Object.entries(monitoringFiles()))
    t.is(await readFile(fromRoot(file), 'utf8'), text, `${file}: run npm run docs:monitoring`)
})

test('alerts, their incidents and the dashboard name only metrics that the service has', async (t) => {
  t.deepEqual(await unknownMetrics(['rate(moorage_invented_total[5m]) + moorage_tasks']), ['moorage_invented_total'])
  t.deepEqual(await unknownMetrics(alerts.map(({ expr }) => expr)), [])
  t.deepEqual(
    await unknownMetrics(
      alerts.flatMap(({ incident, further = [] }) =>
        [incident, ...further].flatMap(({ series }) => Object.keys(series)),
      ),
    ),
    [],
  )
  t.deepEqual(await unknownMetrics(goodDaySeries), [])
  const queries = rows.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries.map(({ expr }) => expr)))
  t.true(queries.length > 40)
  t.deepEqual(await unknownMetrics(queries), [])
})

test('the runbook explains each alert in one paragraph', (t) => {
  const paragraphs = runbookParagraphs()
  t.deepEqual(
    [...paragraphs.keys()],
    alerts.map(({ name }) => name),
  )
  for (const [name, text] of paragraphs) {
    for (const part of ['**Means:**', '**Look at:**', '**Do:**']) t.true(text.includes(part), `${name}: ${part}`)
    t.true(text.length < 1200, `${name} is one paragraph`)
  }
})

const onPromtool = needing('promtool')

onPromtool('promtool accepts the rules, and each alert fires in its incident and on no good day', async (t) => {
  const command = (await promtool())!
  const rules = fromRoot('deploy/monitoring/alerts.yaml')
  const checked = await runCommand(command, ['check', 'rules', rules])
  t.is(checked.status, 0, checked.stdout + checked.stderr)
  const folder = await mkdtemp(join(tmpdir(), 'moorage-alerts-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const incidents = join(folder, 'incidents.yaml')
  await writeFile(incidents, incidentsYaml(rules))
  const tested = await runCommand(command, ['test', 'rules', incidents])
  t.is(tested.status, 0, tested.stdout + tested.stderr)
  await writeFile(incidents, incidentsYaml(rules).replace('severity: page', 'severity: ticket'))
  t.not((await runCommand(command, ['test', 'rules', incidents])).status, 0, 'another severity is noticed')
})
