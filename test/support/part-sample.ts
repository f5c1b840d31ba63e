import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { ServiceAnswer } from './send-json.ts'
import type { TestService } from './service.ts'

/** The password of every person of a tenant. */
export const samplePassword = 'quiet-lantern-over-water-17'

/** What a tenant is made of: an organization and its people. */
export interface TenantPlan {
  readonly org: string
  /** Begins the names that are unique in a service or must not be confused. */
  readonly prefix: string
  /** Is in every text of this tenant that nobody outside has seen, and nowhere else. */
  readonly text: string
  readonly people: Readonly<Record<'owner' | 'editor' | 'viewer', string>>
  readonly mailDomain: string
  /** Whether the people are private. */
  readonly arePrivate: boolean
  /** Logins of further people, outside of the organization. */
  readonly outsiders: readonly string[]
  /** The name of an organization of the site admin, which the people do not see. */
  readonly hiddenOrg?: string
  /** The UID of the cluster; a random one if absent. */
  readonly clusterUid?: string
}

/** A tenant that is made. */
export interface Tenant extends TenantPlan {
  /** The objects that a part has made in this tenant. */
  of<O>(sample: Sample<O>): O
  /** The id of the object of a type. */
  id(object: string): number
  /** The name of the object of a type, or another key of it. */
  key(object: string, by?: string): string
}

/** A tenant while it is made. */
export interface TenantBeingMade extends TenantPlan {
  readonly service: TestService
  readonly database: SqlDatabase
  /** The objects of another part, which are made first if they are not there. */
  of<O>(sample: Sample<O>): Promise<O>
}

/**
 * What stands for a parameter: by the type of the object and the key that names it. Of several values, each is tried.
 */
export type Names = Readonly<Record<string, Readonly<Record<string, string | number | readonly string[]>>>>

/** A body that is all the caller's own, and those that name something of the other tenant, by what it is. */
export type Bodies = (mine: Tenant, theirs: Tenant) => Readonly<Record<string, unknown>> & { readonly own: unknown }

/** The rows of a tenant in a table: the ids that a column has in them. Several columns are read one by one. */
export type OwnedRows = Readonly<Record<string, readonly (number | string)[]>>

/** Why a request may succeed although it names something of the other tenant, and what its answer must look like. */
export interface Harmless {
  readonly why: string
  readonly says: RegExp
}

/** What the tests over all routes need of a part. Keys of routes are their ids. */
export interface Sample<O = unknown> {
  readonly part: string
  /** Whether a service has the part; each has it by default. */
  readonly isServed?: (service: TestService) => boolean
  /** Makes what a service has once. */
  readonly prepare?: (service: TestService) => Promise<void>
  /** Makes the objects of the part in a tenant. */
  readonly make: (tenant: TenantBeingMade) => Promise<O>
  readonly stop?: (objects: O) => Promise<void>
  readonly names?: (objects: O, plan: TenantPlan) => Names
  /** Bodies of routes; undefined for a body about the caller alone, which is left out. */
  readonly bodies?: Readonly<Record<string, Bodies | undefined>>
  /** Routes whose bodies name nothing of a tenant: the declared example is sent. */
  readonly sendsExample?: (routeId: string) => boolean
  /** Query parameters that name no object and without which a request is not well formed. */
  readonly queries?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Routes that are not asked with names of another tenant, and why. */
  readonly notSwapped?: Readonly<Record<string, string>>
  /** The tables with rows of a tenant. */
  readonly tables?: (objects: O, tenant: Tenant) => Readonly<Record<string, OwnedRows>>
  /** The tables whose rows belong to no tenant, or tell nothing of one; and why. */
  readonly sharedTables?: Readonly<Record<string, string>>
  /** Texts that only the tenant knows. */
  readonly secrets?: (objects: O) => readonly string[]
  /** Whatever else must be as before when nothing has changed in a tenant. */
  readonly traces?: (objects: O) => unknown
  /** Requests of one tenant's people that may succeed although they name something of the other one. */
  readonly harmless?: Readonly<Record<string, Harmless>>
  /** Requests about the own tenant alone that its owner is refused, and why. */
  readonly refusedToOwner?: Readonly<Record<string, string>>
  /** The code with which each request of a route about the own tenant is refused. */
  readonly refusedAs?: (routeId: string) => string | undefined
}

/** Returns the sample, with the type of its objects. */
export const defineSample = <O>(sample: Sample<O>): Sample<O> => sample

/** Whether a service is that of a marketplace deployment, which has no routes of contracts. */
export const isOfMarketplace = ({ running }: TestService): boolean => running.marketplaceUrl !== undefined

/** Returns the entries of `refusedToOwner` for routes that are refused for one reason. */
export const refusedFor = (why: string, routeIds: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(routeIds.map((id) => [`${id} []`, why]))

/** Returns the answer of a request that must succeed. Rejects with what it was otherwise. */
export const must = async (what: string, answer: Promise<ServiceAnswer>): Promise<ServiceAnswer> => {
  const got = await answer
  if (got.status >= 300) throw new Error(`${what}: ${got.status} ${got.text}`)
  return got
}
