// process: own - starts services as processes, and kills them
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import test, { type ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { accessKey, region, startCloudAProvider } from './cloud-a-provider.ts'
import { consumer, serviceName, startCloudCProvider } from './cloud-c-provider.ts'

const anHour = 3600 * 1000
const jobLease = 'metering.reportHours'

/** The start of the newest hour that a service reports now: one that has ended ten minutes ago. */
const newestHour = (): number => (Math.floor((Date.now() - 10 * 60_000) / anHour) - 1) * anHour

/** What a provider does to the next report instead of answering it. */
type Fault = 'silence' | 'hanging' | 'unavailable'

/** A provider of either cloud. */
interface Provider {
  readonly settings: Readonly<Record<string, string>>
  /** The requests to record usage, by their token or the id of their operation. */
  reports(): readonly string[]
  /** The quantities that are billed, by dimension and hour. */
  billed(): Readonly<Record<string, number>>
  fail(fault: Fault, times?: number): void
  recover(): void
  /** Called before a report is answered. */
  onReport(work: () => void): void
  stop(): Promise<void>
}

const placeOf = (dimension: string, hour: number): string => `${dimension} ${new Date(hour).toISOString()}`

const providerA = async (): Promise<Provider> => {
  const provider = await startCloudAProvider()
  const outage = { status: 503, body: '<html>Service Unavailable</html>' }
  return {
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudAMarketplaceDeployment',
      MOORAGE_METERING_REGION: region,
      MOORAGE_METERING_PRODUCT: 'product-1',
      MOORAGE_METERING_ENDPOINT: provider.origin,
      AWS_ACCESS_KEY_ID: accessKey.id,
      AWS_SECRET_ACCESS_KEY: accessKey.secret,
      AWS_SESSION_TOKEN: accessKey.session,
    },
    reports: () => provider.seen.map(({ body }) => String(body['ClientToken'])),
    billed: () =>
      Object.fromEntries(
        [...provider.billed].map(([place, { quantity }]) => {
          const [, dimension, hour] = JSON.parse(place) as [string, string, number]
          return [placeOf(dimension, hour * anHour), quantity]
        }),
      ),
    // The package asks three times.
    fail: (fault, times = 3) =>
      void provider.faults.push(...Array.from({ length: times }, () => (fault === 'unavailable' ? outage : fault))),
    recover: () => void (provider.faults.length = 0),
    onReport: (work) => void (provider.hooks.beforeAnswer = work),
    stop: () => provider.stop(),
  }
}

const providerC = async (folder: string): Promise<Provider> => {
  const provider = await startCloudCProvider()
  const keyFile = join(folder, 'reporter.json')
  writeFileSync(keyFile, provider.keyFile)
  const outage = { status: 503, body: '<html>Service Unavailable</html>' }
  const operationOf = (body: Readonly<Record<string, unknown>>) =>
    (body['operations'] as readonly { readonly operationId: string }[])[0]?.operationId ?? ''
  return {
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudCMarketplaceDeployment',
      MOORAGE_METERING_KEY_FILE: keyFile,
      MOORAGE_METERING_CONSUMER: consumer,
      MOORAGE_METERING_PRODUCT: serviceName,
      MOORAGE_METERING_ENDPOINT: provider.origin,
    },
    reports: () => provider.seen.filter(({ method }) => method === 'report').map(({ body }) => operationOf(body)),
    billed: () =>
      Object.fromEntries(
        [...provider.billed.values()].map(({ metricValueSets, startTime = '' }) => {
          const [set] = metricValueSets ?? []
          const dimension = (set?.metricName ?? '').slice(serviceName.length + 1)
          return [placeOf(dimension, Date.parse(startTime)), Number(set?.metricValues?.[0]?.int64Value)]
        }),
      ),
    fail: (fault, times = 3) =>
      void provider.faults.report.push(
        ...Array.from({ length: times }, () => (fault === 'unavailable' ? outage : fault)),
      ),
    recover: () => void (provider.faults.report.length = 0),
    onReport: (work) => void (provider.hooks.beforeAnswer = work),
    stop: () => provider.stop(),
  }
}

/** Plants 2.5 core-hours in an hour, of a cluster that was heard a moment ago. */
const plantUsedHour = async (database: SqlDatabase, hour: number): Promise<void> => {
  const from = hour / 1000
  const month = new Date(hour).getUTCFullYear() * 100 + new Date(hour).getUTCMonth() + 1
  const insert = (table: string, row: object) => database.query((k) => k(table).insert(row))
  await insert('usage_clusters', {
    id: 1,
    owner_id: 1,
    cluster_uid: 'c-1',
    first_heard: 0,
    last_heard: Math.floor(Date.now() / 1000),
    carried_month: month,
  })
  await insert('usage_objects', {
    id: 1,
    cluster_id: 1,
    object_uid: 'o-1',
    kind_id: 1,
    namespace: '',
    namespace_uid: '',
    name: 'o',
    created_at: 0,
    trial_ends_at: null,
    last_heard_day: 0,
    sends_heartbeats: 0,
  })
  await insert('usage_intervals', {
    month,
    cluster_id: 1,
    object_id: 1,
    from_at: from,
    to_at: from + 3600,
    cut_at: from + 3600,
    kind_id: 1,
    milli_cpu: 2500,
    memory_mib: 1024,
    generation: 1,
    replicas: 1,
  })
}

/** A deployment that reports its hours, whose processes are started and killed. */
const makeFixture = async (t: ExecutionContext, cloud: 'A' | 'C') => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-running-hours-'))
  const file = join(folder, 'moorage.sqlite')
  const provider = await (cloud === 'A' ? providerA() : providerC(folder))
  let service: ServiceProcess | undefined
  let database: SqlDatabase | undefined
  t.teardown(async () => {
    await service?.stop()
    await database?.close()
    await provider.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = async (dimension: string): Promise<ServiceProcess> => {
    // The lease of the process before, and its claim, last for half a minute.
    await database?.query((k) => k('leases').where('name', jobLease).delete())
    await database?.query((k) => k('metering_usage').update({ claimed_until: 0 }))
    service = await startServiceProcess({
      settings: {
        ...provider.settings,
        MOORAGE_DATA_DIR: folder,
        MOORAGE_DATABASE_URL: `sqlite:${file}`,
        MOORAGE_TLS: 'false',
        MOORAGE_BILLING_ENABLED: 'true',
        MOORAGE_METERING_DIMENSIONS: `${dimension}=cpu`,
      },
    })
    database ??= await openPatiently(`sqlite:${file}`)
    return service
  }
  const query = <Row>(...given: Parameters<SqlDatabase['query']>) => (database as SqlDatabase).query<Row>(...given)
  return {
    provider,
    file,
    start,
    database: () => database as SqlDatabase,
    async kill() {
      service?.signal('SIGKILL')
      t.is(await service?.exited, 'SIGKILL')
    },
    async stop() {
      await service?.stop()
    },
    /** Waits until the newest hour of a dimension is no longer pending. */
    async reported(dimension: string): Promise<void> {
      await until(`the hours of ${dimension} are reported`, async () => {
        const rows = await query<{ hour_at: number; state: string }>((k) =>
          k('metering_hours').where({ dimension }).select('hour_at', 'state'),
        )
        const hasNewest = rows.some(({ hour_at: at }) => Number(at) >= newestHour())
        return (hasNewest && rows.every(({ state }) => state !== 'pending')) || undefined
      })
    },
    hours: (dimension: string) =>
      query<{ hour_at: number; state: string; reason: string; quantity: number }>((k) =>
        k('metering_hours').where({ dimension }).orderBy('hour_at').select('*'),
      ),
    /** The service has reported all hours up to one. */
    plantReported: (dimension: string, hour: number) =>
      query((k) =>
        k('metering_hours').insert({
          dimension,
          hour_at: hour,
          state: 'reported',
          quantity: 0,
          rest: 0,
          reason: '',
          changed_at: hour,
        }),
      ),
    billedOf: (dimension: string) =>
      Object.entries(provider.billed()).filter(([place]) => place.startsWith(`${dimension} `)),
  }
}

/** Usage that is read by the report of an hour is planted before the first one of it is sent. */
const plantBefore = async (fixture: Awaited<ReturnType<typeof makeFixture>>, hour: number): Promise<void> => {
  const empty = await fixture.start('unused')
  await fixture.reported('unused')
  await empty.stop()
  await plantUsedHour(fixture.database(), hour)
}

for (const cloud of ['A', 'C'] as const) {
  test(`cloud ${cloud}: a killed service bills the closed hour once`, async (t) => {
    const fixture = await makeFixture(t, cloud)
    const { provider } = fixture
    const hour = newestHour()
    await plantBefore(fixture, hour)

    const isSeen = (count: number) => until('a report arrives', () => provider.reports().length > count || undefined)
    const known = () => provider.reports().length
    /** Kills the service at a moment of its report, and starts it again. */
    const survives = async (dimension: string, moment: () => Promise<void>): Promise<void> => {
      const before = known()
      await fixture.start(dimension)
      await isSeen(before)
      await moment()
      await fixture.kill()
      provider.recover()
      await fixture.start(dimension)
      await fixture.reported(dimension)
      await fixture.stop()
      const asked = provider.reports().slice(before)
      t.true(asked.length >= 2, dimension)
      t.is(new Set(asked).size, 1, 'each attempt has the same token')
      const billed = fixture.billedOf(dimension)
      t.true(billed.length >= 1, dimension)
      t.deepEqual(
        billed.filter(([place]) => place === placeOf(dimension, hour)),
        [[placeOf(dimension, hour), 2]],
      )
    }

    provider.fail('silence')
    await survives('before', async () => undefined)
    provider.fail('hanging')
    await survives('during', async () => undefined)
    // The answer arrives while nothing can be written: what the provider said is not recorded.
    const writer = new Database(fixture.file)
    let answered = false
    provider.onReport(() => {
      writer.exec('begin immediate')
      answered = true
    })
    await survives('after', async () => {
      await until('the provider has answered', () => answered || undefined)
      provider.onReport(() => undefined)
      await fixture.kill()
      writer.exec('rollback')
      writer.close()
      const rows = await fixture
        .database()
        .query<{ state: string }>((k) => k('metering_usage').where('state', 'sent').select('state'))
      t.is(rows.length, 1)
    })
  })

  test(`cloud ${cloud}: outage hours are billed in order, expired ones counted`, async (t) => {
    const fixture = await makeFixture(t, cloud)
    const { provider } = fixture
    await (await fixture.start('first')).stop()
    const newest = newestHour()
    await fixture.plantReported('late', newest - 4 * anHour)
    provider.fail('unavailable', 6)
    await fixture.start('late')
    await until('the outage is known', async () => {
      const [, first] = await fixture.hours('late')
      return (first !== undefined && first.reason !== '') || undefined
    })
    t.deepEqual(fixture.billedOf('late'), [])
    await fixture.stop()
    provider.recover()
    await fixture.start('late')
    await fixture.reported('late')
    await fixture.stop()
    const places = fixture.billedOf('late').map(([place]) => place)
    t.deepEqual(
      places.slice(0, 4),
      [3, 2, 1, 0].map((ago) => placeOf('late', newest - ago * anHour)),
    )

    if (cloud === 'C') return
    await fixture.plantReported('old', newest - 8 * anHour)
    const service = await fixture.start('old')
    await fixture.reported('old')
    const hours = (await fixture.hours('old')).slice(1)
    const lost = hours.filter(({ state }) => state === 'lost')
    t.true(lost.length >= 3 && lost.length < 8, `${lost.length}`)
    t.deepEqual([...new Set(lost.map(({ reason }) => reason))], ['TooLate'])
    t.deepEqual(
      fixture.billedOf('old').map(([place]) => place),
      hours.filter(({ state }) => state === 'reported').map(({ hour_at: at }) => placeOf('old', Number(at))),
    )
    const figures = await (await fetch(new URL('/metrics', service.opsUrl))).text()
    t.regex(figures, new RegExp(`moorage_metering_unreported_hours\\{reason="TooLate"\\} ${lost.length}\\n`))
  })
}

if (!isSwitchedOff('mariadb'))
  test('of two instances one reports the hour', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-two-metering-'))
    const provider = await providerA()
    const settings = {
      ...provider.settings,
      MOORAGE_DATABASE_URL: await migratedMysqlUrl(),
      MOORAGE_KEYRING: join(folder, 'keyring.json'),
      MOORAGE_TLS: 'false',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_METERING_DIMENSIONS: 'both=cpu',
    }
    const first = await startServiceProcess({ settings })
    const second = await startServiceProcess({ settings })
    t.teardown(async () => {
      await Promise.all([first.stop(), second.stop()])
      await provider.stop()
      rmSync(folder, { recursive: true, force: true })
    })
    await until('the hour is billed', () => Object.keys(provider.billed()).length > 0 || undefined)
    await Promise.all([first.stop(), second.stop()])
    t.is(provider.reports().length, Object.keys(provider.billed()).length)
  })
