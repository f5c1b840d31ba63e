// process: own - it changes the environment, where the package of a provider looks for credentials
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { makeCloudAMetering, type CloudAOptions } from '../../adapters/metering/cloud-a-metering.ts'
import { makeServiceControl, type CloudCOptions } from '../../adapters/metering/service-control.ts'
import { makeEgressClient } from '../../adapters/outbound/egress-client.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import type { MeterUsage, ServiceOperation } from '../../core/marketplace/metering/types.ts'
import { surroundWithTraps } from '../clouds/hostile-surroundings.ts'
import type { CloudAProvider } from './cloud-a-provider.ts'
import { awsError, giveCredentials, region, startCloudAProvider } from './cloud-a-provider.ts'
import type { CloudCProvider } from './cloud-c-provider.ts'
import { consumer, serviceName, startCloudCProvider, startMetadataServer } from './cloud-c-provider.ts'

surroundWithTraps()
giveCredentials()
process.env['AWS_EC2_METADATA_DISABLED'] = 'true'

const anyAddress = makeEgressClient(makeEgressPolicy(new Set(['public', 'private', 'loopback'])), true)
const publicOnly = makeEgressClient(makeEgressPolicy(new Set(['public'])), false)
const folder = mkdtempSync(join(tmpdir(), 'moorage-metering-'))
const keyFile = join(folder, 'reporter.json')
let cloudA: CloudAProvider
let cloudC: CloudCProvider
test.before(async () => {
  cloudA = await startCloudAProvider()
  cloudC = await startCloudCProvider()
  writeFileSync(keyFile, cloudC.keyFile)
})
test.after.always(async () => {
  await Promise.all([cloudA?.stop(), cloudC?.stop(), anyAddress.close(), publicOnly.close()])
  rmSync(folder, { recursive: true, force: true })
})

const key = '2ab7c3c0-51c1-5b0e-8f63-0a4c5b9f2d11'
const usage: MeterUsage = {
  productCode: 'product-1',
  dimension: 'nodes',
  timestamp: new Date(),
  isDryRun: false,
  quantity: 3,
  allocations: undefined,
}
const operation: ServiceOperation = {
  serviceName,
  operationId: key,
  operationName: `${serviceName}/report`,
  consumerId: consumer,
  metricName: `${serviceName}/nodes`,
  start: new Date('2026-07-14T10:00:00Z'),
  end: new Date('2026-07-14T11:00:00Z'),
  labels: {},
  value: { int64: 3n },
}
const meteringA = (options: Partial<CloudAOptions> = {}) =>
  makeCloudAMetering({ region, endpoint: cloudA.origin, egress: anyAddress, ...options })
const controlC = (options: Partial<CloudCOptions> = {}) =>
  makeServiceControl({ keyFile, endpoint: cloudC.origin, egress: anyAddress, ...options })

test.serial('usage is possibly recorded when a provider times out', async (t) => {
  cloudA.faults.push('silence', 'silence', 'silence', 'silence')
  const late = { kind: 'failed', code: 'RequestTimeout', mayBeRecorded: true } as const
  t.like(await meteringA({ deadlineMilliseconds: 400 }).report(usage, key), late)
  cloudA.faults.length = 0
  cloudC.faults.report.push('silence', 'silence', 'silence', 'silence')
  t.like(await controlC({ deadlineMilliseconds: 400 }).report(operation), late)
  cloudC.faults.report.length = 0
})

test.serial('a connection that ends before the answer is made again', async (t) => {
  // A provider of its own: a request that another test gave up may still arrive, and would take the fault.
  const own = await startCloudAProvider()
  t.teardown(() => own.stop())
  own.faults.push('dropped')
  t.like(await meteringA({ endpoint: own.origin }).report(usage, key), { kind: 'accepted', attempts: 2 })
})

test('a provider that cannot be reached has recorded nothing', async (t) => {
  const nowhere = 'http://127.0.0.1:9'
  t.like(await controlC({ endpoint: nowhere, deadlineMilliseconds: 2000 }).report(operation), { kind: 'failed' })
  t.like(await meteringA({ endpoint: nowhere, deadlineMilliseconds: 2000 }).report(usage, key), { kind: 'failed' })
})

test('addresses that are not public are refused for the providers themselves', async (t) => {
  const refused = { kind: 'failed', code: 'RequestError', mayBeRecorded: false } as const
  const count = [cloudA.seen.length, cloudC.seen.length]
  t.like(await meteringA({ egress: publicOnly }).report(usage, key), refused)
  t.like(await controlC({ egress: publicOnly }).report(operation), refused)
  t.deepEqual([cloudA.seen.length, cloudC.seen.length], count)
})

const missing = (name: string) => () =>
  Promise.reject(Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' }))

test('a package that is not installed is named', async (t) => {
  const notConfigured = { kind: 'failed', code: 'ProviderNotConfigured', mayBeRecorded: false } as const
  const a = await meteringA({ load: missing('@aws-sdk/client-marketplace-metering') }).report(usage, key)
  t.like(a, notConfigured)
  t.regex(JSON.stringify(a), /npm install @aws-sdk\/client-marketplace-metering/)
  const c = await controlC({ load: missing('@googleapis/servicecontrol') }).report(operation)
  t.like(c, notConfigured)
  t.regex(JSON.stringify(c), /npm install @googleapis\/servicecontrol/)
})

test('a missing or unreadable key file is reported', async (t) => {
  const notConfigured = { kind: 'failed', code: 'ProviderNotConfigured', mayBeRecorded: false } as const
  const broken = join(folder, 'broken.json')
  writeFileSync(broken, '{"client_email":"a@b","private_key":')
  t.like(await controlC({ keyFile: join(folder, 'none.json') }).check(operation), notConfigured)
  const said = await controlC({ keyFile: broken }).check(operation)
  t.like(said, notConfigured)
  t.notRegex(JSON.stringify(said), /private_key/)
})

/** Runs work in an environment with other variables; those that are undefined are absent. */
const within = async (changes: Readonly<Record<string, string | undefined>>, work: () => Promise<void>) => {
  const kept = Object.fromEntries(Object.keys(changes).map((name) => [name, process.env[name]]))
  const set = (values: Readonly<Record<string, string | undefined>>): void => {
    for (const [name, value] of Object.entries(values))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
  set(changes)
  try {
    await work()
  } finally {
    set(kept)
  }
}

/** The proxy and the key file that the traps name. */
const untrapped = {
  HTTP_PROXY: undefined,
  HTTPS_PROXY: undefined,
  http_proxy: undefined,
  https_proxy: undefined,
  GOOGLE_APPLICATION_CREDENTIALS: undefined,
}

test.serial('without a key file, cloud C uses the workload token', async (t) => {
  const metadata = await startMetadataServer('token-of-the-workload')
  t.teardown(() => metadata.stop())
  await within(
    { ...untrapped, GCE_METADATA_HOST: metadata.host, METADATA_SERVER_DETECTION: 'assume-present' },
    async () => {
      const control = controlC({ keyFile: undefined })
      const refused = await control.report({ ...operation, operationId: randomUUID() })
      t.like(refused, { kind: 'refused', code: 'UNAUTHENTICATED' }, 'the provider does not know the account')
      cloudC.tokens.add('token-of-the-workload')
      const id = randomUUID()
      t.like(await control.check({ ...operation, operationId: id }), { kind: 'accepted' })
      t.like(await control.report({ ...operation, operationId: id }), { kind: 'accepted' })
      t.true(cloudC.billed.has(id))
      t.true(metadata.asked.some((path) => path.endsWith('/service-accounts/default/token')))
    },
  )
})

test.serial("without a key file, the environment's file is used, or none", async (t) => {
  const nowhere = { GCE_METADATA_HOST: '127.0.0.1:9', METADATA_SERVER_DETECTION: 'none', HOME: folder }
  const count = cloudC.seen.length
  await within({ ...untrapped, ...nowhere }, async () => {
    const none = await controlC({ keyFile: undefined }).check(operation)
    t.like(none, { kind: 'failed', code: 'ProviderNotConfigured', mayBeRecorded: false })
  })
  // The trap: a file that does not exist.
  t.like(await controlC({ keyFile: undefined }).check(operation), { kind: 'failed', code: 'ProviderNotConfigured' })
  t.is(cloudC.seen.length, count)
})

test.serial('cloud A needs a region, which can come from the environment', async (t) => {
  const count = cloudA.seen.length
  const noRegion = { AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined, HOME: folder, AWS_CONFIG_FILE: undefined }
  await within(noRegion, async () => {
    for (const endpoint of [cloudA.origin, undefined]) {
      const result = await meteringA({ region: undefined, endpoint }).report(usage, key)
      t.like(result, { kind: 'failed', code: 'ProviderNotConfigured', mayBeRecorded: false, attempts: 0 }, endpoint)
      t.regex(JSON.stringify(result), /region/)
    }
  })
  t.is(cloudA.seen.length, count)
  await within({ AWS_REGION: region }, async () => {
    t.like(await meteringA({ region: undefined }).report(usage, key), { kind: 'accepted' })
  })
})

// Other tests of this file need the credentials of the process.
test.serial('without credentials nothing is sent', async (t) => {
  const count = cloudA.seen.length
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'HOME'] as const
  const kept = Object.fromEntries(names.map((name) => [name, process.env[name]]))
  for (const name of names) delete process.env[name]
  process.env['HOME'] = folder
  try {
    const result = await meteringA().report(usage, key)
    t.like(result, { kind: 'failed', code: 'ProviderNotConfigured', mayBeRecorded: false })
  } finally {
    Object.assign(process.env, kept)
  }
  t.is(cloudA.seen.length, count)
})

test.serial('requests beyond the rate wait, and excess ones are refused unsent', async (t) => {
  cloudA.faults.push(...Array.from({ length: 40 }, () => awsError('InvalidTagException')))
  const metering = meteringA({ deadlineMilliseconds: 1000 })
  const results = await Promise.all(Array.from({ length: 30 }, () => metering.report(usage, key)))
  cloudA.faults.length = 0
  const throttled = results.filter((result) => result.kind === 'refused' && result.code === 'ThrottlingException')
  t.true(throttled.length > 0 && throttled.length < 30)
  t.true(throttled.every(({ attempts }) => attempts === 0))
})
