import { migratedSqlitePath, openPatiently } from './databases.ts'
import type { Sample, TenantPlan } from './part-sample.ts'
import { samplePassword } from './part-sample.ts'
import type { AllSamples, MadeTenant } from './samples.ts'
import { loadSamples, makeTenant, servedBy, togetherOf } from './samples.ts'
import type { TestService } from './service.ts'
import { startService } from './service.ts'
import { readSqliteFile, writeSqliteFile } from './sqlite-file.ts'

export const password = samplePassword

/** The UID of the cluster of the organization. */
export const populatedClusterUid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'

const harbour: TenantPlan = {
  org: 'harbour',
  prefix: '',
  text: 'Mooring',
  people: { owner: 'alice', editor: 'eddie', viewer: 'vera' },
  mailDomain: 'example.com',
  arePrivate: false,
  outsiders: ['olga', 'dora'],
  hiddenOrg: 'lagoon',
  clusterUid: populatedClusterUid,
}

/** A service with objects of every part. */
export interface ServiceWithSamples extends TestService {
  readonly samples: AllSamples
  readonly databasePath: string
}

/**
 * The real service of a vendor, which has every route but those of a marketplace, with what a service has once. Other
 * settings may make it one of a marketplace.
 */
export const startWithSamples = async (
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceWithSamples> => {
  const databasePath = await migratedSqlitePath()
  const service = await startService({
    settings: {
      MOORAGE_DATABASE_URL: `sqlite:${databasePath}`,
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_USAGE_REPORTERS: 'anyone',
      ...settings,
    },
  })
  const samples = await loadSamples()
  for (const sample of servedBy(service, samples)) await sample.prepare?.(service)
  return { ...service, samples: togetherOf(samples), databasePath }
}

export interface PopulatedService extends ServiceWithSamples {
  readonly fixture: MadeTenant
  /** The objects that a part has made. */
  of<O>(sample: Sample<O>): O
  /** The rows that a statement reads from the database behind the service's back. */
  rows(statement: string, ...binds: readonly unknown[]): readonly Record<string, unknown>[]
  /** Runs a statement that writes to the database behind the service's back. */
  write(statement: string, ...binds: readonly unknown[]): Promise<void>
}

/** A service with the organization `harbour`, its people by level, and an object of every type. */
export const startPopulatedService = async (
  settings: Readonly<Record<string, string>> = {},
): Promise<PopulatedService> => {
  const service = await startWithSamples(settings)
  const { databasePath } = service
  const database = await openPatiently(service.databaseUrl)
  const fixture = await makeTenant(service.samples.samples, service, database, harbour).finally(() => database.close())
  return {
    ...service,
    fixture,
    of: fixture.of,
    rows: (statement, ...binds) =>
      readSqliteFile(databasePath, (file) => file.prepare(statement).all(...binds) as Record<string, unknown>[]),
    write: (statement, ...binds) => writeSqliteFile(databasePath, (file) => file.prepare(statement).run(...binds)),
    stop: async () => {
      await service.stop()
      await fixture.stop()
    },
  }
}
