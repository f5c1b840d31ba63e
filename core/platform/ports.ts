import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { portKey } from '../kernel/port-key.ts'

/** The look of a console. Pictures are `data:` URLs of PNG, JPEG or WebP; empty if there is none. */
export interface Branding {
  readonly logo: string
  readonly favicon: string
  /** `#rrggbb`, lower case. */
  readonly primaryColor: string
  readonly showAppTag: boolean
  readonly appName: string
}

/** The branding of the installation. */
export interface BrandingStore {
  /** Undefined if none has been set. */
  read(): Promise<Branding | undefined>
  put(branding: Branding): Promise<void>
}
export const BrandingStorePort = portKey<BrandingStore>('platform.BrandingStore')
export const PlatformUnitOfWorkPort =
  portKey<UnitOfWork<{ readonly branding: BrandingStore; readonly audit: AuditTrail }>>('platform.UnitOfWork')

/** Exact counts of the objects of the site. */
export interface SiteCounts {
  readonly users: number
  readonly activeUsers: number
  readonly siteAdmins: number
  readonly organizations: number
  readonly teams: number
  readonly clusters: number
  readonly sessions: number
  readonly accessTokens: number
}

/** Facts about the installation for a site admin's console. */
export interface SiteFacts {
  counts(): Promise<SiteCounts>
  database(): Promise<{ readonly kind: 'sqlite' | 'mysql'; readonly version: string }>
  /** Every setting by its key in the file, in a form that may be shown. Secrets are never included. */
  settings(): Readonly<Record<string, unknown>>
  readonly runtime: string
  readonly startedAt: Date
  readonly runMode: 'production' | 'development'
  readonly deploymentType: string
}
export const SiteFactsPort = portKey<SiteFacts>('platform.SiteFacts')

/** What happens in a bounded pool, such as threads. */
export interface PoolLoad {
  /** Work that has a place. */
  readonly running: number
  /** Work that waits for one. */
  readonly waiting: number
  /** The number of places that were given since the start. */
  readonly waits: number
  /** How long work waited for them in all, in seconds. */
  readonly waitSeconds: number
  /** The number of calls that were refused since the start: too many of their account waited, or for too long. */
  readonly refusals: number
}

/** The names of the attributes of spans. None holds a text that a user has entered, or a secret. */
export type SpanAttribute =
  | 'http.request.method'
  | 'http.route'
  | 'http.response.status_code'
  | 'db.operation.name'
  | 'db.collection.name'
  | 'error.type'
  | 'moorage.request_id'
  | 'moorage.operation'
  | 'moorage.task.kind'
  | 'moorage.task.ref'
  | 'moorage.job'
  | 'moorage.pool'
  | 'moorage.relation'
  | 'moorage.object_type'
  | 'moorage.cluster_id'
  | 'moorage.upstream'
  | 'moorage.statements'
  | 'moorage.statement_seconds'
  | 'moorage.wait_seconds'

export type SpanAttributes = Readonly<Partial<Record<SpanAttribute, string | number>>>

/** A span that is not ended yet. */
export interface OpenSpan {
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. `type` is a code, such as the tag of a failure, and never a message. */
  fail(type: string): void
}

/** Where a span begins: inside of another one, on a request of a caller, or as work that a request has left. */
export interface SpanStart {
  /** One of a few fixed names, with the template of a route at most. */
  readonly name: string
  readonly kind?: 'internal' | 'server' | 'client' | 'consumer'
  readonly attributes?: SpanAttributes
  /** W3C trace context that the span continues; without it, that of the surrounding span. */
  readonly parent?: string | undefined
}

/** Distributed traces. Work that is not traced runs as it is. */
export interface Tracing {
  readonly isOn: boolean
  /** Runs work in a span, which ends with it. A throw marks the span as failed. */
  span<A>(start: SpanStart, work: (span: OpenSpan) => Promise<A>): Promise<A>
  /** Returns the headers that continue the trace on another server; none outside of a span. */
  headers(): Readonly<Record<string, string>>
  /** Returns the trace that surrounds the call, with its request; undefined outside of both. */
  current(): TraceContext | undefined
}

/** The trace of a piece of work, as logs and answers show it. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  /** W3C trace context, for work that continues elsewhere. */
  readonly traceparent: string
}

const noSpan: OpenSpan = { set: () => undefined, fail: () => undefined }

/** Traces nothing. */
export const noTracing: Tracing = {
  isOn: false,
  span: (_start, work) => work(noSpan),
  headers: () => ({}),
  current: () => undefined,
}
