// process: own - it fills the environment with keys and proxies that must not be used
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { surroundWithTraps } from '../clouds/hostile-surroundings.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { readSqliteFile } from '../support/sqlite-file.ts'
import type { CloudCProvider } from './cloud-c-provider.ts'
import { consumer, serviceName, startCloudCProvider } from './cloud-c-provider.ts'

surroundWithTraps()

const root = '/api/v1/proxy/metered-billing/marketplaces'
const reportPath = `${root}/cloudC/report-usage`
const folder = mkdtempSync(join(tmpdir(), 'moorage-metering-'))
let provider: CloudCProvider
let service: TestService
test.before(async () => {
  provider = await startCloudCProvider()
  const keyFile = join(folder, 'reporter.json')
  writeFileSync(keyFile, provider.keyFile)
  service = await startService({
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudCMarketplaceDeployment',
      MOORAGE_METERING_ENDPOINT: provider.origin,
      MOORAGE_METERING_KEY_FILE: keyFile,
      MOORAGE_METERING_CONSUMER: consumer,
    },
  })
})
test.after.always(async () => {
  await service?.stop()
  await provider?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let dimensions = 0
const usage = (changes: object = {}) => ({
  serviceName,
  dimension: `nodes-${(dimensions += 1)}`,
  startTime: '2019-02-06T12:00:00Z',
  endTime: '2019-02-06T13:00:00Z',
  labels: { cluster: 'harbour' },
  value: { int64Value: '150' },
  ...changes,
})
const report = (body: unknown) => service.send('POST', reportPath, { token: service.adminToken, body })
const lastState = () =>
  readSqliteFile(service.databaseUrl.slice('sqlite:'.length), (file) =>
    file.prepare('select state from metering_usage order by id desc limit 1').pluck().get(),
  )
const ofMethod = (method: 'check' | 'report') => provider.seen.filter((call) => call.method === method)
const last = (method: 'check' | 'report') => ofMethod(method).at(-1)?.body as Record<string, unknown>

// The first test: no check was made before.
test.serial('a check precedes the report and is valid for a minute', async (t) => {
  const sent = usage()
  const { status, json } = await report(sent)
  t.is(status, 200)
  t.deepEqual(json, { serviceConfigId: '2026-11-20r0', serviceRolloutId: '2026-11-20r0' })
  t.deepEqual(
    provider.seen.map(({ method }) => method),
    ['check', 'report'],
  )
  const [operation] = last('report')['operations'] as readonly Record<string, unknown>[]
  const { operationId, userLabels, ...rest } = operation ?? {}
  const times = { startTime: '2019-02-06T12:00:00.000Z', endTime: '2019-02-06T13:00:00.000Z' }
  t.deepEqual(rest, {
    operationName: `${serviceName}/report`,
    consumerId: consumer,
    ...times,
    metricValueSets: [
      { metricName: `${serviceName}/${sent.dimension}`, metricValues: [{ int64Value: '150', ...times }] },
    ],
  })
  t.deepEqual(userLabels, { cluster: 'harbour' })
  t.deepEqual(last('check'), { operation: { operationId, ...rest } })
  await report(usage({ dimension: `${serviceName}/nodes-full`, name: 'harbour usage', value: { doubleValue: 1.5 } }))
  t.is(ofMethod('check').length, 1)
  const [second] = last('report')['operations'] as readonly Record<string, unknown>[]
  t.like(second, { operationName: 'harbour usage' })
  t.regex(JSON.stringify(second), /"metricName":"[^"/]+\/nodes-full".*"doubleValue":1.5/)
})

test.serial('a lost answer is repeated with its operation and billed once', async (t) => {
  const before = provider.billed.size
  provider.faults.report.push('lost')
  t.is((await report(usage())).status, 200)
  const [first, second] = ofMethod('report').slice(-2)
  t.deepEqual(first, second)
  t.is(provider.billed.size, before + 1)
})

test.serial('unknown usage blocks other usage of its time until repeated', async (t) => {
  const before = provider.billed.size
  provider.faults.report.push('lost', 'lost', 'lost')
  const sent = usage()
  const lost = await report(sent)
  t.is(lost.status, 500)
  t.like(lost.json, { code: 'RequestTimeout' })
  t.is(lastState(), 'unknown')
  const other = await report({ ...sent, value: { int64Value: 151 } })
  t.is(other.status, 422)
  t.like(other.json, { code: 'UsageOverlaps' })
  t.regex((other.json as { message: string }).message, /Repeat that report unchanged first/)
  t.is((await report(sent)).status, 200)
  t.is(provider.billed.size, before + 1)
})

test.serial('overlapping usage is refused, and adjoining usage accepted', async (t) => {
  const sent = usage()
  const { json } = await report(sent)
  const count = provider.seen.length
  t.deepEqual((await report({ ...sent, value: { int64Value: 150 } })).json, json)
  t.is(provider.seen.length, count)
  t.is((await report({ ...sent, startTime: '2019-02-06T12:59:59Z', endTime: '2019-02-06T14:00:00Z' })).status, 422)
  t.is((await report({ ...sent, startTime: '2019-02-06T13:00:00Z', endTime: '2019-02-06T14:00:00Z' })).status, 200)
  t.is((await report({ ...sent, labels: { cluster: 'other' } })).status, 200)
})

test.serial("a provider's refusal is 500 with its code and can be sent again", async (t) => {
  const sent = usage()
  provider.faults.report.push({
    status: 403,
    body: '{"error":{"code":403,"status":"PERMISSION_DENIED","message":"no"}}',
  })
  const { status, json } = await report(sent)
  t.is(status, 500)
  t.deepEqual(json, { code: 'PERMISSION_DENIED', message: 'no', origErr: {} })
  t.is(lastState(), 'refused')
  t.is((await report({ ...sent, value: { int64Value: 7 } })).status, 200)
})

test.serial('a 429 of the provider is passed on with its Retry-After', async (t) => {
  const exhausted = {
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': '7' },
    body: '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slowly"}}',
  }
  provider.faults.report.push(exhausted, exhausted, exhausted)
  const sent = usage()
  const { status, json, headers } = await report(sent)
  t.deepEqual([status, headers['retry-after']], [429, '7'])
  t.deepEqual(json, { code: 'RESOURCE_EXHAUSTED', message: 'slowly', origErr: {} })
  t.is(lastState(), 'refused')
  t.is((await report(sent)).status, 200)
})

test.serial('a page instead of an answer may mean that the usage is recorded', async (t) => {
  const html = { headers: { 'content-type': 'text/html' }, body: '<html>down</html>' }
  provider.faults.report.push({ status: 200, ...html })
  const { status, json, text } = await report(usage())
  t.is(status, 500)
  t.like(json, { code: 'InvalidProviderResponse' })
  t.notRegex(text, /html/)
  t.is(lastState(), 'unknown')
})

test.serial("errors in a report's answer are passed on and counted", async (t) => {
  const sent = usage()
  const reportErrors = [{ operationId: 'x', status: { code: 3, message: 'bad' } }]
  provider.faults.report.push({ status: 200, body: JSON.stringify({ reportErrors }) })
  const { status, json } = await report(sent)
  t.is(status, 200)
  t.deepEqual(json, { reportErrors })
  t.is(lastState(), 'refused')
  t.regex(service.logText(), /a provider did not record usage/)
  const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text()
  t.regex(metrics, /moorage_metering_reports_total\{outcome="partial"\} 1/)
  t.is((await report(sent)).status, 200)
})

test.serial('invalid input is 422 in the form of the route and is not sent', async (t) => {
  const count = provider.seen.length
  const invalid: Readonly<Record<string, unknown>> = {
    'no JSON': '{',
    'a list': [],
    'no service': usage({ serviceName: undefined }),
    'a service that is a path': usage({ serviceName: '../other' }),
    'no dimension': usage({ dimension: '' }),
    'no start': usage({ startTime: undefined }),
    'a day that does not exist': usage({ endTime: '2026-02-30T00:00:00Z' }),
    'an end at the start': usage({ endTime: '2019-02-06T12:00:00Z' }),
    'an end before the start': usage({ endTime: '2019-02-06T11:00:00Z' }),
    'no value': usage({ value: undefined }),
    'an empty value': usage({ value: {} }),
    'a fraction as an integer': usage({ value: { int64Value: 1.5 } }),
    'words as an integer': usage({ value: { int64Value: 'many' } }),
    'beyond 64 bits': usage({ value: { int64Value: '9223372036854775808' } }),
    'labels that are no text': usage({ labels: { a: 1 } }),
  }
  for (const [what, body] of Object.entries(invalid)) {
    const { status, json } = await report(body)
    t.is(status, 422, what)
    t.deepEqual(Object.keys(json as object).sort(), ['code', 'message', 'origErr'], what)
  }
  t.is(provider.seen.length, count)
})

test.serial('an integer of 64 bits arrives as it is', async (t) => {
  t.is((await report(usage({ value: { int64Value: '9223372036854775807' } }))).status, 200)
  t.regex(JSON.stringify(last('report')), /"int64Value":"9223372036854775807"/)
})

test.serial('site admins alone report, here and on no other deployment', async (t) => {
  const readiness = `${root}/cloudC/check/readiness`
  t.like(await service.send('GET', readiness, { token: service.adminToken }), { status: 200, text: '' })
  const body = {
    username: 'vera',
    email: 'vera@example.com',
    password: 'quiet-lantern-17-over',
    must_change_password: false,
  }
  t.is((await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })).status, 201)
  const vera = await service.tokenFor('vera')
  t.is((await service.send('GET', readiness, { token: vera })).status, 403)
  t.is((await service.send('POST', reportPath, { token: vera, body: usage() })).status, 403)
  t.is((await service.send('GET', readiness)).status, 401)
  t.is((await service.send('POST', reportPath, { body: usage() })).status, 401)
  const token = service.adminToken
  t.is((await service.send('GET', readiness.replace('cloudC', 'cloudA'), { token })).status, 404)
  t.is((await service.send('POST', reportPath.replace('cloudC', 'cloudA'), { token, body: {} })).status, 404)
})
