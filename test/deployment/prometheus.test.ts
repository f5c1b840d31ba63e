// process: own - runs a Prometheus server
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { request } from 'undici'
import { stringify } from 'yaml'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { alerts } from '../docs/monitoring/alerts.ts'
import { rows } from '../docs/monitoring/dashboard.ts'
import { fromRoot } from '../docs/asvs-table.ts'
import { promtool } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { findPrometheus } from '../support/components/promtool.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { startFakeKubernetes, tokenUntil } from '../support/fake-kubernetes.ts'
import { adminLogin } from '../support/service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { until } from '../support/until.ts'

const test = needing('promtool')

interface Answer {
  readonly status: string
  readonly error?: string
  readonly warnings?: readonly string[]
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any
}

/** Starts a Prometheus that scrapes a service as its job `moorage`, and returns what asks it. */
const startPrometheus = async (t: ExecutionContext, opsUrl: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-prometheus-'))
  const [port, file] = [await reservedPort(), join(folder, 'prometheus.yaml')]
  writeFileSync(
    file,
    stringify({
      global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
      rule_files: [fromRoot('deploy/monitoring/alerts.yaml')],
      scrape_configs: [{ job_name: 'moorage', static_configs: [{ targets: [new URL(opsUrl).host] }] }],
    }),
  )
  const words = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const server = spawn(await findPrometheus((await promtool())!), words, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.on('data', (text) => void (said += String(text)))
  const exited = new Promise((resolve) => server.once('exit', resolve))
  t.teardown(async () => {
    server.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const ask = async (path: string): Promise<Answer> => {
    const reply = await request(`http://127.0.0.1:${port}/api/v1${path}`)
    return (await reply.body.json()) as Answer
  }
  const query = (expr: string) => ask(`/query?query=${encodeURIComponent(expr)}`)
  await until('Prometheus', () => ask('/status/runtimeinfo').catch(() => undefined)).catch((error: unknown) => {
    throw new Error(said, { cause: error })
  })
  return { ask, query }
}

/** Queries that have no result on a day on which nothing waits, runs or fails, and those of a service without a bus. */
const emptyOnGoodDays: readonly string[] = [
  'max(moorage_usage_intake_pending_messages)',
  'max by (kind) (moorage_task_oldest_queued_seconds) > 0',
  'max by (kind) (moorage_task_oldest_running_seconds) > 0',
  'sum by (job_id) (increase(moorage_job_runs_total{outcome="failed"}[1h])) > 0',
  'max by (job_id) (moorage_job_running_seconds) > 0',
]

test('Prometheus scrapes the service and evaluates each query and alert', async (t) => {
  t.timeout(180_000)
  const service = await startPopulatedService()
  t.teardown(service.stop)
  // A cluster that answers and then does not, and wrong passwords until the account is locked.
  const fake = await startFakeKubernetes()
  fake.token = tokenUntil(Math.floor(Date.now() / 1000) + 86_400)
  await expectStatus(importCluster(service.send, service.adminToken, adminLogin, 'quay', fake.kubeconfig()), 200)
  await fake.stop()
  await service.send('GET', `/api/v1/clusters/${adminLogin}/quay/proxy/version`, { token: service.adminToken })
  for (let n = 0; n < 6; n++) await service.send('GET', '/api/v1/user', { basic: [adminLogin, 'wrong'] })
  const prometheus = await startPrometheus(t, service.opsUrl)
  await until('three scrapes', async () => {
    const { data } = await prometheus.query('count_over_time(up{job="moorage"}[1m])')
    return Number(data.result[0]?.value[1] ?? 0) >= 3 || undefined
  })
  const empty: string[] = []
  for (const { title, queries } of rows.flatMap(({ panels }) => panels))
    for (const { expr, legend } of queries) {
      const { status, error, warnings, data } = await prometheus.query(expr)
      t.is(status, 'success', `${title}: ${expr}: ${error}`)
      t.deepEqual(warnings ?? [], [], `${title}: ${expr}`)
      const result = data.result as readonly { readonly metric: Readonly<Record<string, string>> }[]
      if (result.length === 0) empty.push(expr)
      for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g))
        for (const { metric } of result) t.truthy(metric[label], `${title}: the legend has ${label}: ${expr}`)
    }
  t.deepEqual(
    empty.filter((expr) => !emptyOnGoodDays.includes(expr)),
    [],
  )
  const evaluated = await until('an evaluation of the alerts', async () => {
    const { data } = await prometheus.ask('/rules')
    const rules = data.groups.flatMap((group: { rules: unknown[] }) => group.rules) as readonly {
      readonly name: string
      readonly health: string
      readonly lastError?: string
    }[]
    return rules.length > 0 && rules.every(({ health }) => health !== 'unknown') ? rules : undefined
  })
  t.deepEqual(
    evaluated.map(({ name, health, lastError }) => [name, health, lastError]),
    alerts.map(({ name }) => [name, 'ok', undefined]),
  )
})
