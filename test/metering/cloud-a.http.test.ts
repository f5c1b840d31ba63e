// process: own - it fills the environment with keys and proxies that must not be used
import Database from 'better-sqlite3'
import test from 'ava'
import { surroundWithTraps } from '../clouds/hostile-surroundings.ts'
import { readSqliteFile } from '../support/sqlite-file.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { CloudAProvider } from './cloud-a-provider.ts'
import { awsError, giveCredentials, region, signatureOf, startCloudAProvider } from './cloud-a-provider.ts'

surroundWithTraps()
giveCredentials()

const root = '/api/v1/proxy/metered-billing/marketplaces'
const reportPath = `${root}/cloudA/report-usage`
let provider: CloudAProvider
let service: TestService
test.before(async () => {
  provider = await startCloudAProvider()
  service = await startService({
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudAMarketplaceDeployment',
      MOORAGE_METERING_ENDPOINT: provider.origin,
      MOORAGE_METERING_REGION: region,
    },
  })
  const body = {
    username: 'vera',
    email: 'vera@example.com',
    password: 'quiet-lantern-17-over',
    must_change_password: false,
  }
  const { status } = await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })
  if (status !== 201) throw new Error(`vera was not created: ${status}`)
})
test.after.always(async () => {
  await service?.stop()
  await provider?.stop()
})

const anHour = 3600 * 1000
const hour = (ago: number): string => new Date(Math.floor(Date.now() / anHour) * anHour - ago * anHour).toISOString()
let dimensions = 0
const freshDimension = (): string => `nodes-${(dimensions += 1)}`
const usage = (changes: object = {}) => ({
  ProductCode: 'product-1',
  Timestamp: hour(1),
  UsageDimension: freshDimension(),
  UsageQuantity: 3,
  ...changes,
})
const report = (body: unknown) => service.send('POST', reportPath, { token: service.adminToken, body })
const rows = (statement: string, ...binds: readonly unknown[]) =>
  readSqliteFile(service.databaseUrl.slice('sqlite:'.length), (file) =>
    file.prepare(statement).all(...binds),
  ) as Record<string, unknown>[]

test('the signature of the test provider is that of the published suite', (t) => {
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' }
  const signature = signatureOf(
    { method: 'GET', path: '/', query: '', headers, body: '' },
    {
      secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
      service: 'service',
      names: ['host', 'x-amz-date'],
    },
  )
  t.is(signature, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31')
})

test.serial('usage is reported signed and unchanged, with the record id as answer', async (t) => {
  const sent = usage({
    UsageAllocations: [
      { AllocatedUsageQuantity: 2, Tags: [{ Key: 'team', Value: 'harbour' }] },
      { AllocatedUsageQuantity: 1 },
    ],
  })
  const { status, json } = await report(sent)
  t.is(status, 200)
  const billed = [...provider.billed.values()].at(-1)
  t.deepEqual(json, { MeteringRecordId: billed?.id })
  const { body, headers } = provider.seen.at(-1) ?? { body: {}, headers: {} }
  const { ClientToken: token, ...rest } = body
  t.deepEqual(rest, { ...sent, Timestamp: Date.parse(sent.Timestamp) / 1000 })
  t.regex(String(token), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.regex(String(headers['user-agent']), /app\/moorage/)
})

test.serial('repeated usage is answered from the record, and other usage goes out', async (t) => {
  const sent = usage()
  const first = await report(sent)
  const count = provider.seen.length
  t.deepEqual((await report(sent)).json, first.json)
  t.is(provider.seen.length, count)
  const other = await report({ ...sent, UsageQuantity: 4 })
  t.is(other.status, 400)
  t.deepEqual(other.json, {
    code: 'DuplicateRequestException',
    message: 'DuplicateRequestException of the provider',
    origErr: {},
  })
})

test.serial('a lost answer is repeated under its token and billed once', async (t) => {
  const before = provider.billed.size
  provider.faults.push('lost')
  const sent = usage()
  const { status, json } = await report(sent)
  t.is(status, 200)
  const [first, second] = provider.seen.slice(-2)
  t.deepEqual(first?.body, second?.body)
  t.is(provider.billed.size, before + 1)
  t.is([...provider.billed.values()].at(-1)?.id, (json as { MeteringRecordId: string }).MeteringRecordId)
})

test.serial('usage without any answer is unknown until its repetition', async (t) => {
  const before = provider.billed.size
  provider.faults.push('lost', 'lost', 'lost')
  const sent = usage()
  const lost = await report(sent)
  t.is(lost.status, 500)
  t.like(lost.json, { code: 'RequestTimeout', origErr: { name: 'TimeoutError' } })
  t.regex((lost.json as { message: string }).message, /may be recorded/)
  t.deepEqual(rows('select state from metering_usage order by id desc limit 1'), [{ state: 'unknown' }])
  provider.faults.push(awsError('TimestampOutOfBoundsException'))
  const refused = await report(sent)
  t.is(refused.status, 400)
  t.regex((refused.json as { message: string }).message, /An earlier request .* may have recorded it/)
  t.deepEqual(rows('select state from metering_usage order by id desc limit 1'), [{ state: 'unknown' }])
  t.is((await report(sent)).status, 200)
  t.is(provider.billed.size, before + 1)
  t.deepEqual(rows('select state from metering_usage order by id desc limit 1'), [{ state: 'accepted' }])
})

const refusals = [
  'CustomerNotEntitledException',
  'DuplicateRequestException',
  'IdempotencyConflictException',
  'InvalidEndpointRegionException',
  'InvalidProductCodeException',
  'InvalidTagException',
  'InvalidUsageAllocationsException',
  'InvalidUsageDimensionException',
  'TimestampOutOfBoundsException',
]
const failures = [
  'AccessDeniedException',
  'UnrecognizedClientException',
  'ExpiredTokenException',
  'ValidationException',
  'SerializationException',
  'UnauthorizedException',
  'SomethingNewException',
]
for (const code of refusals)
  test.serial(`${code} is answered with 400 and its name`, async (t) => {
    provider.faults.push(awsError(`com.amazonaws.marketplace#${code}`, 400, 'why'))
    const { status, json } = await report(usage())
    t.is(status, 400)
    t.deepEqual(json, { code, message: 'why', origErr: {} })
  })
for (const code of failures)
  test.serial(`${code} is answered with 500 and its name`, async (t) => {
    provider.faults.push(awsError(code, 400, 'why'))
    const { status, json } = await report(usage())
    t.is(status, 500)
    t.deepEqual(json, { code, message: 'why', origErr: {} })
  })

test.serial('an error by header is named too', async (t) => {
  const headers = { 'x-amzn-errortype': 'InvalidTagException:http://internal.example/' }
  provider.faults.push({ status: 400, body: '{"message":"why"}', headers })
  t.like((await report(usage())).json, { code: 'InvalidTagException', message: 'why' })
})

test.serial('an internal error of the provider is tried again, and then answered with 500', async (t) => {
  provider.faults.push(awsError('InternalServiceErrorException', 500, 'inside'))
  t.is((await report(usage())).status, 200)
  provider.faults.push(...Array.from({ length: 3 }, () => awsError('InternalServiceErrorException', 500, 'inside')))
  const { status, json } = await report(usage())
  t.is(status, 500)
  t.deepEqual(json, { code: 'InternalServiceErrorException', message: 'inside', origErr: {} })
})

test.serial('two throttles are retried, and a third returns the waiting time', async (t) => {
  const throttle = awsError('ThrottlingException', 400, 'slowly')
  provider.faults.push(throttle, throttle)
  t.is((await report(usage())).status, 200)
  provider.faults.push(throttle, throttle, throttle)
  const { status, json, headers } = await report(usage())
  t.is(status, 400)
  t.deepEqual(json, { code: 'ThrottlingException', message: 'slowly', origErr: {} })
  t.is(headers['retry-after'], '1')
})

test.serial('a 429 of the provider is passed on with its Retry-After', async (t) => {
  const throttle = { ...awsError('ThrottlingException', 429, 'slowly'), headers: { 'retry-after': '1' } }
  provider.faults.push(throttle, throttle, throttle)
  const { status, json, headers } = await report(usage())
  t.deepEqual([status, headers['retry-after']], [429, '1'])
  t.deepEqual(json, { code: 'ThrottlingException', message: 'slowly', origErr: {} })
})

test.serial('answers without an id count as neither recorded nor refused', async (t) => {
  const html = { status: 503, body: '<html>down</html>', headers: { 'content-type': 'text/html' } }
  for (const faults of [[html, html, html], [{ ...html, status: 200 }], [{ status: 200, body: '{}' }]]) {
    provider.faults.push(...faults)
    const { status, json, text } = await report(usage())
    t.is(status, 500)
    t.like(json, { code: 'InvalidProviderResponse' })
    t.notRegex(text, /html/)
    t.deepEqual(rows('select state from metering_usage order by id desc limit 1'), [{ state: 'unknown' }])
  }
})

test.serial("the provider's text about a signature is not repeated", async (t) => {
  provider.faults.push(awsError('InvalidSignatureException', 403, 'The canonical string should have been POST / host:'))
  const { status, json, text } = await report(usage())
  t.is(status, 500)
  t.like(json, { code: 'InvalidSignatureException' })
  t.notRegex(text, /canonical/)
})

test.serial('a valid dry run has an empty id and bills nothing', async (t) => {
  const before = [provider.billed.size, rows('select count(*) as n from metering_usage')]
  const { status, json } = await report(usage({ DryRun: true }))
  t.is(status, 200)
  t.deepEqual(json, { MeteringRecordId: '' })
  t.like(await report(usage({ DryRun: true, UsageDimension: 'unknown' })), { status: 400 })
  t.deepEqual([provider.billed.size, rows('select count(*) as n from metering_usage')], before)
})

test.serial('every call is recorded with its requester', async (t) => {
  const from = rows('select coalesce(max(id), 0) as n from metering_calls')[0]?.['n']
  provider.faults.push(awsError('InvalidTagException'))
  const sent = usage()
  await report(sent)
  await report(sent)
  t.deepEqual(
    rows('select asked_by, cloud, outcome, code, attempts from metering_calls where id > ? order by id', from),
    [
      { asked_by: 'admin', cloud: 'cloudA', outcome: 'refused', code: 'InvalidTagException', attempts: 1 },
      { asked_by: 'admin', cloud: 'cloudA', outcome: 'accepted', code: '', attempts: 1 },
    ],
  )
})

test.serial('twenty copies at once are billed once and all get the same id', async (t) => {
  const sent = usage()
  const answers = await Promise.all(Array.from({ length: 20 }, () => report(sent)))
  const ids = answers
    .filter(({ status }) => status === 200)
    .map(({ json }) => (json as { MeteringRecordId: string }).MeteringRecordId)
  t.is(new Set(ids).size, 1)
  t.is(ids.length, 20)
  const place = JSON.stringify([sent.ProductCode, sent.UsageDimension, Date.parse(sent.Timestamp) / anHour])
  t.is(provider.billed.get(place)?.id, ids[0])
})

const invalid: Readonly<Record<string, unknown>> = {
  'a list': [],
  'no product': usage({ ProductCode: undefined }),
  'an empty product': usage({ ProductCode: '' }),
  'no dimension': usage({ UsageDimension: undefined }),
  'no time': usage({ Timestamp: undefined }),
  'a date': usage({ Timestamp: '2026-11-21' }),
  'a day that does not exist': usage({ Timestamp: '2026-02-30T00:00:00Z' }),
  seconds: usage({ Timestamp: 1784023200 }),
  'a negative quantity': usage({ UsageQuantity: -1 }),
  'a fraction': usage({ UsageQuantity: 1.5 }),
  'a quantity beyond 32 bits': usage({ UsageQuantity: 2 ** 31 }),
  'a quantity as text': usage({ UsageQuantity: '3' }),
  'a dry run as text': usage({ DryRun: 'true' }),
  'too many allocations': usage({
    UsageAllocations: Array.from({ length: 2501 }, () => ({ AllocatedUsageQuantity: 0 })),
  }),
  'an allocation without quantity': usage({ UsageAllocations: [{ Tags: [] }] }),
  'a tag without value': usage({ UsageAllocations: [{ AllocatedUsageQuantity: 3, Tags: [{ Key: 'team' }] }] }),
}
test.serial('invalid input is 422 in the form of the route and sends nothing', async (t) => {
  const count = provider.seen.length
  for (const [what, body] of Object.entries({ ...invalid, 'no JSON': '{' })) {
    const { status, json } = await report(body)
    t.is(status, 422, what)
    t.deepEqual(Object.keys(json as object).sort(), ['code', 'message', 'origErr'], what)
  }
  t.is(provider.seen.length, count)
})

test.serial('site admins alone report, here and on no other deployment', async (t) => {
  const readiness = `${root}/cloudA/check/readiness`
  t.like(await service.send('GET', readiness, { token: service.adminToken }), { status: 200, text: '' })
  const vera = await service.tokenFor('vera')
  for (const [method, path] of [
    ['GET', readiness],
    ['POST', reportPath],
  ] as const) {
    const body = method === 'POST' ? { body: usage() } : {}
    t.is((await service.send(method, path, body)).status, 401, path)
    t.is((await service.send(method, path, { token: vera, ...body })).status, 403, path)
    const elsewhere = path.replace('cloudA', 'cloudC')
    t.is((await service.send(method, elsewhere, { token: service.adminToken, ...body })).status, 404, elsewhere)
    t.is(
      (await service.send(method, path.replace('cloudA', 'cloudB'), { token: service.adminToken, ...body })).status,
      404,
    )
  }
})

test.serial('outcomes are counted', async (t) => {
  const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text()
  t.regex(metrics, /moorage_metering_reports_total\{outcome="accepted"\} [1-9]/)
  t.regex(metrics, /moorage_metering_reports_total\{outcome="unknown"\} [1-9]/)
})

test.serial("site admins read the results of a month's usage", async (t) => {
  const at = Date.UTC(2026, 5, 3, 10)
  const file = new Database(service.databaseUrl.slice('sqlite:'.length))
  file
    .prepare(
      'insert into metering_hours (dimension, hour_at, state, quantity, rest, reason, changed_at, subscription_ref, ' +
        "unit, lost) values ('cores', ?, 'reported', 3, 0, '', ?, 'sub-1', 3600000, 1800000)",
    )
    .run(at, at)
  file.close()
  const path = '/api/v1/dashboard/marketplaces/metering/month'
  const read = (query: string, token = service.adminToken) => service.send('GET', `${path}${query}`, { token })
  const figure = { subscriptionId: 'sub-1', dimension: 'cores', used: 3.5, metered: 3, lost: 0.5, waiting: 0 }
  t.deepEqual((await read('?month=2026-06')).json, { figures: [figure] })
  t.deepEqual((await read('?month=2026-05')).json, { figures: [] })
  t.is((await read('?month=2026-13')).status, 400)
})
