import { readdirSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { Bodies, Harmless, Names, OwnedRows, Sample, Tenant, TenantPlan } from './part-sample.ts'
import type { TestService } from './service.ts'

const testFolder = fileURLToPath(new URL('..', import.meta.url))

/** The sample of each part: what `sample.ts` in each folder of tests exports as `sample`. */
export const loadSamples = async (): Promise<readonly Sample[]> => {
  const files = readdirSync(testFolder)
    .sort()
    .map((folder) => join(testFolder, folder, 'sample.ts'))
    .filter((file) => existsSync(file))
  return Promise.all(
    files.map(async (file) => ((await import(pathToFileURL(file).href)) as { readonly sample: Sample }).sample),
  )
}

/** What the samples say together. */
export interface AllSamples {
  readonly samples: readonly Sample[]
  /** The body of a route; undefined if no sample has one. */
  bodiesOf(routeId: string): { readonly bodies: Bodies | undefined } | undefined
  sendsExample(routeId: string): boolean
  queryOf(routeId: string): Readonly<Record<string, string>>
  isNotSwapped(routeId: string): boolean
  refusedAs(routeId: string): string | undefined
  readonly harmless: Readonly<Record<string, Harmless>>
  readonly refusedToOwner: Readonly<Record<string, string>>
}

const merged = <A>(tables: readonly (Readonly<Record<string, A>> | undefined)[]): Readonly<Record<string, A>> => {
  const all: Record<string, A> = {}
  for (const [key, value] of tables.flatMap((table) => Object.entries(table ?? {}))) {
    if (key in all) throw new Error(`two samples have ${key}`)
    all[key] = value
  }
  return all
}

export const togetherOf = (samples: readonly Sample[]): AllSamples => {
  const bodies = merged(samples.map((sample) => sample.bodies))
  const queries = merged(samples.map((sample) => sample.queries))
  const notSwapped = merged(samples.map((sample) => sample.notSwapped))
  return {
    samples,
    bodiesOf: (routeId) => (routeId in bodies ? { bodies: bodies[routeId] } : undefined),
    sendsExample: (routeId) => samples.some((sample) => sample.sendsExample?.(routeId) === true),
    queryOf: (routeId) => queries[routeId] ?? {},
    isNotSwapped: (routeId) => routeId in notSwapped,
    refusedAs: (routeId) => samples.map((sample) => sample.refusedAs?.(routeId)).find((code) => code !== undefined),
    harmless: merged(samples.map((sample) => sample.harmless)),
    refusedToOwner: merged(samples.map((sample) => sample.refusedToOwner)),
  }
}

/** A tenant with the objects of every part. */
export interface MadeTenant extends Tenant {
  /** What stands for the parameters of routes. */
  readonly names: Names
  /** The tables with rows of the tenant. */
  readonly tables: Readonly<Record<string, OwnedRows>>
  readonly secrets: readonly string[]
  traces(): readonly unknown[]
  stop(): Promise<void>
}

/** Two parts may have rows in one table, by different columns. */
const ownedRows = (tables: readonly Readonly<Record<string, OwnedRows>>[]): Readonly<Record<string, OwnedRows>> => {
  const all: Record<string, OwnedRows> = {}
  for (const [table, rows] of tables.flatMap((each) => Object.entries(each))) all[table] = merged([all[table], rows])
  return all
}

/** The samples of the parts that a service has. */
export const servedBy = (service: TestService, samples: readonly Sample[]): readonly Sample[] =>
  samples.filter(({ isServed }) => isServed?.(service) !== false)

/** Makes a tenant with the objects of the samples of all parts that the service has. */
export const makeTenant = async (
  all: readonly Sample[],
  service: TestService,
  database: SqlDatabase,
  plan: TenantPlan,
): Promise<MadeTenant> => {
  const samples = servedBy(service, all)
  const begun = new Map<Sample, Promise<unknown>>()
  const of = <O>(sample: Sample<O>): Promise<O> => {
    const key = sample as Sample
    const made = begun.get(key) ?? sample.make({ ...plan, service, database, of })
    begun.set(key, made)
    return made as Promise<O>
  }
  for (const sample of samples) await of(sample)
  const objects = new Map(await Promise.all(samples.map(async (sample) => [sample, await begun.get(sample)] as const)))
  const names = merged(samples.map((sample) => sample.names?.(objects.get(sample), plan)))
  const key = (object: string, by = 'name'): string => valuesOf({ names }, object, by, 'a sample')[0] ?? ''
  const tenant: Tenant = {
    ...plan,
    of: <O>(sample: Sample<O>) => objects.get(sample as Sample) as O,
    id: (object) => Number(key(object, 'id')),
    key,
  }
  return {
    ...tenant,
    names,
    tables: ownedRows(samples.map((sample) => sample.tables?.(objects.get(sample), tenant) ?? {})),
    secrets: samples.flatMap((sample) => sample.secrets?.(objects.get(sample)) ?? []),
    traces: () => samples.map((sample) => sample.traces?.(objects.get(sample))),
    stop: async () => {
      for (const sample of samples) await sample.stop?.(objects.get(sample))
    },
  }
}

/** The values of a parameter in a tenant. Throws if no sample has one. */
export const valuesOf = (
  { names }: Pick<MadeTenant, 'names'>,
  object: string,
  by: string,
  route: string,
): readonly string[] => {
  const value = names[object]?.[by]
  if (value === undefined)
    throw new Error(`no test/<part>/sample.ts gives the ${by} of a ${object}, which ${route} names`)
  return typeof value === 'object' ? value : [String(value)]
}
