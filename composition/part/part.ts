import type { ObjectRows } from '../../adapters/sql/kit/object-rows.ts'
import type { SealedColumn } from '../../adapters/sql/kit/declared-tables.ts'
import type { PartMigrations } from '../../adapters/sql/kit/migration.ts'
import type { SentSubject } from '../../core/bus/types.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import type { Binding, Using } from './binding.ts'
import type { Boot } from './boot.ts'
import type { Describe } from './describe.ts'
import type { Finding } from './finding.ts'
import type { Container } from './container.ts'
import type { RuntimeSettings } from './runtime-settings.ts'
import type { SettingRows, ValuesOf } from './setting.ts'
import type { Gauges } from './gauges.ts'
import type { ReadinessCheck } from './readiness-check.ts'
import type { Tag } from './tag.ts'
import type { StaticSite } from './pages/static-site.ts'
import type { WebPage } from './pages/web-page.ts'
import type { PortSpans } from './spans.ts'

/** What a part has started. */
export interface Running {
  /** Called when the stop is requested, before requests have ended. It must return at once. */
  beginStop?(): void
  /** Called after requests have ended. What the part's ports are made of is closed later, by their bindings. */
  stop?(): Promise<void>
  /** Resolves when what the operator must know of the start is in the log. */
  readonly isTold?: Promise<void>
}

/**
 * Files that a part keeps outside of the database, each named by a row of one of its tables. `moorage backup` takes
 * them along.
 */
export interface StoredFiles {
  readonly table: string
  /** Columns of the table: first the one with the reference of a file, which is empty if the row has none. */
  readonly columns: readonly string[]
  /** Returns a file, or undefined if there is none. Rejects if the store does not work. */
  read(ref: string): Promise<Uint8Array | undefined>
  /** Stores a file. `values` are those of `columns`. Rejects if the store does not work. */
  write(values: readonly unknown[], bytes: Uint8Array): Promise<void>
}

/** A person of the demonstration. */
interface DemoPerson {
  readonly login: string
  readonly fullName: string
  /** The team of the organization that the person is in. */
  readonly team: 'Owners' | 'Editors' | 'Viewers'
}

/** A cluster of the demonstration: a record, to which no connection is made. */
export interface DemoCluster {
  readonly name: string
  readonly displayName: string
  readonly uid: string
  readonly mode: 'prod' | 'non-prod'
}

export interface DemoOrganization {
  readonly name: string
  readonly fullName: string
  readonly people: readonly DemoPerson[]
  readonly clusters: readonly DemoCluster[]
}

export interface DemoHub {
  readonly hub: string
  readonly spoke: string
}

/** What `demo seed` works with. Seeders run in the order of the parts, and find what those before them have made. */
export interface DemoWorld {
  readonly vendor: DemoOrganization
  readonly customers: readonly DemoOrganization[]
  /** Client organizations of the vendor. Their clusters are those of the hub. */
  readonly clients: readonly DemoOrganization[]
  /** Kubeconfigs of a hub and of a cluster that becomes its spoke. Without them no connection is made. */
  readonly hub: DemoHub | undefined
  /** The address of an identity provider that people sign in with: an issuer, or that of a directory. */
  readonly identityProvider: string | undefined
  readonly now: Date
  /** The ports of the open parts. */
  readonly container: Container
  /** Returns the password of a person: generated, and shown at the end. */
  passwordOf(login: string): string
  /** Calls a route below `/api/v1` as the first site admin, and returns its JSON. Throws if it is refused. */
  send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>
  /** The id of an organization. */
  idOf(name: string): Promise<number>
  /** Says what is made now. */
  tell(text: string): void
}

export type DemoSeeder = (world: DemoWorld) => Promise<void>

/** By this text `demo reset` knows what it may remove. */
export const demoDescription = 'Demonstration data, made by moorage demo seed'

/** A step of the start of `serve`; commands take none. */
type Step = Using<Running | void>

/**
 * Everything that a part brings. The runtime (database, key ring, listeners, jobs) iterates over the list of parts and
 * names none. A part whose plugin's gate is closed brings nothing but its tables and the names of its settings.
 */
export interface Part<Rows extends SettingRows = SettingRows> {
  /** What clients see: routes, jobs, kinds of tasks, permissions and object types. */
  readonly plugin: AnyPlugin
  /** Whether the settings ask for the part, beside the gate of its plugin. */
  isWanted?(settings: RuntimeSettings & ValuesOf<Rows>): boolean
  readonly settings?: Rows
  /** Returns how the ports of the part are made. It makes, opens and reads nothing. */
  provide?(boot: Boot<ValuesOf<Rows>>): readonly Binding[]
  /** Its tables. They exist also where the part is closed. */
  readonly migrations?: PartMigrations
  /**
   * Columns of its tables with bytes that `SecretBox` has sealed, for a part of another repository. `moorage keys`
   * seals them again, and keeps the keys that they need.
   */
  readonly sealedColumns?: readonly SealedColumn[]
  /** Where the database has the objects of the types that the part owns. */
  readonly objectRows?: readonly ObjectRows[]
  /** `name`: what they are, in one word of letters, such as `documents`. */
  readonly storedFiles?: Using<StoredFiles> & { readonly name: string }
  /** Looks, after a restore, at what people need first, such as whether a site admin can sign in. Changes nothing. */
  readonly restored?: Using<() => Promise<readonly Finding[]>>
  /** Adds what belongs to the part to the demonstration of `moorage demo seed`. Parts run in their order. */
  readonly demo?: DemoSeeder
  /** Removes what `demo` has made outside of the database, before `moorage demo reset` empties it. In reverse order. */
  readonly demoRemoval?: (world: Omit<DemoWorld, 'hub' | 'identityProvider' | 'passwordOf'>) => Promise<void>
  /** Commands, `moorage <part> …`. Their modules are loaded when they run. */
  readonly commands?: Describe
  /** Checks of `/readyz`. */
  readonly checks?: Using<readonly ReadinessCheck[]>
  /** Checks of `moorage doctor`, which has no ports. They change nothing. */
  doctor?(settings: RuntimeSettings & ValuesOf<Rows>): Promise<readonly Finding[]>
  readonly metrics?: readonly Gauges[]
  /** Programs that it runs in processes of their own (`Boot.helpers`). */
  readonly helperPrograms?: readonly string[]
  /** Methods of its ports whose calls are spans of traces. */
  readonly spans?: readonly PortSpans[]
  /** Tag groups of the document that the part adds. */
  readonly tags?: readonly Tag[]
  /** What programs of accounts send to the part by the message bus. */
  readonly subjects?: readonly SentSubject[]
  /** Pages outside of the API. */
  readonly pages?: readonly WebPage[]
  /** Sites of several views outside of the API. */
  readonly sites?: readonly StaticSite[]
  /** Runs when the schema is up to date, before the API listens. */
  readonly start?: Step
  /** Runs when the service is ready. */
  readonly ready?: Step
}

/** Declares a part. A part of another repository exports it as `part`. */
export const definePart = <const Rows extends SettingRows = Record<never, never>>(part: Part<Rows>): Part<Rows> => part

/** A part with the type of its settings erased, as the runtime handles it. */
export type AnyPart = Part
