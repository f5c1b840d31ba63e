import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { LogScope } from '../../adapters/logging/bunyan-log.ts'
import { makeLogScope } from '../../adapters/logging/bunyan-log.ts'
import type { SqlDatabase, SqlRunner, StatementText } from '../../adapters/sql/kit/statement.ts'
import type { OtlpOptions, OtlpTracing } from '../../adapters/tracing/otlp-tracing.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { SpanAttributes, SpanStart, Tracing } from '../../core/platform/ports.ts'
import { noTracing } from '../../core/platform/ports.ts'
import { releaseVersion } from '../../core/platform/version.ts'
import type { Binding } from '../binding.ts'
import type { FrameSettings } from '../config/frame-settings.ts'

/** Traces of this process, with the log that names them. */
export interface OpenTracing {
  readonly tracing: Tracing
  readonly scope: LogScope
  lost(): number
  close(): Promise<void>
}

/** Traces nothing. Lines of the log have the ids of requests. */
export const noOpenTracing = (): OpenTracing => ({
  tracing: noTracing,
  scope: makeLogScope(noTracing.current),
  lost: () => 0,
  close: async () => undefined,
})

/** Returns the headers of `name=value,name=value`, percent-decoded, as OTEL_EXPORTER_OTLP_HEADERS has them. */
const headersOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair.includes('='))
      .map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]
      }),
  )

/** Where traces are exported to. It holds the credential of the receiver. */
export type OtlpTarget = Omit<OtlpOptions, 'onTrouble'>

/** Returns where the settings send traces; undefined if they are off. */
export const otlpTargetOf = (
  { otlpEndpoint, otlpHeaders, tracePercent }: FrameSettings,
  instanceId: string,
): OtlpTarget | undefined =>
  otlpEndpoint === undefined
    ? undefined
    : {
        endpoint: otlpEndpoint,
        headers: otlpHeaders === undefined ? {} : headersOf(otlpHeaders.reveal()),
        percent: tracePercent,
        release: releaseVersion,
        instanceId,
      }

/** Opens the traces that the settings ask for. The library is loaded only then. */
export const openTracing = async (settings: FrameSettings, instanceId: string, log: Log): Promise<OpenTracing> => {
  const target = otlpTargetOf(settings, instanceId)
  if (target === undefined) return noOpenTracing()
  const { openOtlpTracing } = await import('../../adapters/tracing/otlp-tracing.ts')
  const tracing: OtlpTracing = await openOtlpTracing({
    ...target,
    onTrouble: (reason) => log.warn({ reason }, 'spans of traces were not exported and are lost'),
  })
  return { tracing, scope: makeLogScope(tracing.current), lost: tracing.lost, close: tracing.close }
}

const transactionName = 'TRANSACTION'
const verb = /^\s*\(?\s*([a-z]+)/i
const collection = /\b(?:from|into|update|join)\s+[`"]?([a-z_]+)/i

/** Returns what a statement does and to which table. Its text may hold values that were never prepared. */
const startOf = ({ sql, shown }: StatementText): SpanStart => {
  const text = shown ?? sql
  const operation = (verb.exec(text)?.[1] ?? 'other').toUpperCase()
  const table = collection.exec(text)?.[1] ?? ''
  return {
    name: `${operation} ${table}`.trim(),
    kind: 'client',
    attributes: { 'db.operation.name': operation, ...(table === '' ? {} : { 'db.collection.name': table }) },
  }
}

/** Returns a runner whose statements are spans. */
const tracedRunner = (runner: SqlRunner, tracing: Tracing, startFor: (statement: StatementText) => SpanStart) => ({
  dialect: runner.dialect,
  all: <B extends object, R>(...args: Parameters<typeof runner.all<B, R>>) =>
    tracing.span(startFor(args[0]), () => runner.all<B, R>(...args)),
  first: <B extends object, R>(...args: Parameters<typeof runner.first<B, R>>) =>
    tracing.span(startFor(args[0]), () => runner.first<B, R>(...args)),
  run: <B extends object, R>(...args: Parameters<typeof runner.run<B, R>>) =>
    tracing.span(startFor(args[0]), () => runner.run<B, R>(...args)),
  query: <Row>(...args: Parameters<typeof runner.query<Row>>) =>
    tracing.span({ name: 'QUERY', kind: 'client' }, () => runner.query<Row>(...args)),
})

/** Returns a database whose statements and transactions are spans. */
export const tracedDatabase = (database: SqlDatabase, tracing: Tracing): SqlDatabase => {
  if (!tracing.isOn) return database
  const starts = new WeakMap<StatementText, SpanStart>()
  const startFor = (statement: StatementText): SpanStart => {
    const known = starts.get(statement)
    if (known !== undefined) return known
    const start = startOf(statement)
    starts.set(statement, start)
    return start
  }
  return {
    ...database,
    ...tracedRunner(database, tracing, startFor),
    transaction: (work) =>
      tracing.span({ name: transactionName, kind: 'client' }, () =>
        database.transaction((tx) => work(tracedRunner(tx, tracing, startFor))),
      ),
  }
}

/** Events, and how long they took in all. */
export interface StatementCounts {
  readonly count: number
  readonly seconds: number
}

/** A database whose statements are counted, and are spans where traces are on. */
export interface CountedDatabase {
  readonly db: SqlDatabase
  readonly counts: {
    statements(): StatementCounts
    /** Waits for a connection, or for the turn to change the database. */
    waits(): StatementCounts
  }
}

/** Counts the statements of a helper process, whose database has no other metric. */
export const countedDatabase = (database: SqlDatabase, tracing = noTracing): CountedDatabase => {
  let [count, seconds] = [0, 0]
  const counting: Tracing = {
    ...tracing,
    isOn: true,
    async span(start, work) {
      // A transaction is not a statement: it has some.
      if (start.name === transactionName) return tracing.span(start, work)
      const since = performance.now()
      try {
        return await tracing.span(start, work)
      } finally {
        count += 1
        seconds += (performance.now() - since) / 1000
      }
    },
  }
  return {
    db: tracedDatabase(database, counting),
    counts: {
      statements: () => ({ count, seconds }),
      waits: () => {
        const load = database.load()
        return { count: load.waits, seconds: load.waitSeconds }
      },
    },
  }
}

interface TracedMethod {
  readonly name: string
  readonly kind?: SpanStart['kind']
  readonly attributes?: (args: readonly unknown[]) => SpanAttributes
  /** Returns the arguments with the headers that continue the trace. */
  readonly passOn?: (args: readonly unknown[], headers: Readonly<Record<string, string>>) => readonly unknown[]
}

type Methods = Readonly<Record<string, TracedMethod>>

const toCluster = ([connection]: readonly unknown[]): SpanAttributes => ({
  'moorage.cluster_id': (connection as { readonly link: { readonly id: number } }).link.id,
  'moorage.upstream': 'cluster',
})

interface WithHeaders {
  readonly headers?: readonly (readonly [string, string])[]
}

const traceHeaders: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** The caller's own headers continued its trace up to here. */
const inSecond = (args: readonly unknown[], headers: Readonly<Record<string, string>>): readonly unknown[] => {
  const [first, second, ...rest] = args
  const sent = second as WithHeaders
  const others = (sent.headers ?? []).filter(([name]) => !traceHeaders.has(name.toLowerCase()))
  return [first, { ...sent, headers: [...others, ...Object.entries(headers)] }, ...rest]
}

const inInit = (args: readonly unknown[], headers: Readonly<Record<string, string>>): readonly unknown[] => {
  const [input, init] = args as readonly [unknown, { readonly headers?: ConstructorParameters<typeof Headers>[0] }?]
  const sent = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  return [input, { ...init, headers: Object.fromEntries(sent) }]
}

const cluster = { kind: 'client', attributes: toCluster, passOn: inSecond } as const
const provider: Methods = { fetch: { name: 'provider request', kind: 'client', passOn: inInit } }

const helm = (name: string): TracedMethod => ({ name: `helm ${name}` })

/** The ports whose work is a span, by their names, with their methods. @internal */
export const tracedPorts: Readonly<Record<string, Methods>> = {
  'identity.Authenticator': { authenticate: { name: 'authenticate' }, spendCode: { name: 'spend one-time code' } },
  'identity.PasswordHasher': { hash: { name: 'queue passwords: hash' }, verify: { name: 'queue passwords: verify' } },
  'authz.Authorizer': {
    authorize: {
      name: 'authorize',
      attributes: ([, object, relation]) => ({
        'moorage.relation': String(relation),
        'moorage.object_type': (object as { readonly type: string }).type,
      }),
    },
  },
  'tasks.Tasks': { submit: { name: 'submit task' }, prepare: { name: 'prepare task' } },
  'clusters.ClusterApi': {
    request: { name: 'cluster request', ...cluster },
    survey: { name: 'cluster survey', kind: 'client' },
  },
  'clusters.ClusterTransport': {
    relay: { name: 'cluster relay', ...cluster },
    tunnel: { name: 'cluster tunnel', ...cluster },
  },
  'packages.HelmRunner': {
    template: helm('template'),
    checkValues: helm('check values'),
    install: helm('install'),
    upgrade: helm('upgrade'),
    rollback: helm('rollback'),
    uninstall: helm('uninstall'),
  },
  'packages.ChartSource': { fetch: { name: 'fetch chart' } },
  'packages.ChartTools': { pack: { name: 'queue charts: pack' }, packSchemas: { name: 'queue charts: schemas' } },
  'packages.ChartFetch': {
    fetch: {
      name: 'chart source request',
      kind: 'client',
      attributes: () => ({ 'moorage.upstream': 'chart source' }),
      passOn: ([what, ...rest], headers) => {
        const sent = what as { readonly headers?: Readonly<Record<string, string>> }
        return [{ ...sent, headers: { ...sent.headers, ...headers } }, ...rest]
      },
    },
  },
  'contracts.LicenseSigner': { sign: { name: 'queue licenses: sign' } },
  'contracts.DocumentStore': { put: { name: 'store document' }, remove: { name: 'remove document' } },
  'contracts.DocumentEgress': provider,
  'clouds.BucketDirectory': { list: { name: 'list buckets' } },
  'clouds.VendorEgress': provider,
  'clouds.OperatorEgress': provider,
  'metering.CloudAMetering': { report: { name: 'report usage' } },
  'metering.ServiceControl': { check: { name: 'check consumer' }, report: { name: 'report usage' } },
  'metering.ProviderEgress': provider,
  'mail.Mailer': { send: { name: 'send mail', kind: 'client' } },
}

const isFailure = (result: unknown): result is Either<Failure<string>, unknown> & { readonly _tag: 'Left' } =>
  typeof result === 'object' && result !== null && '_tag' in result && isLeft(result as Either<unknown, unknown>)

type Method = (...args: readonly unknown[]) => Promise<unknown>

const tracedMethod = (tracing: Tracing, target: object, method: Method, traced: TracedMethod): Method => {
  const { name, kind = 'internal', attributes, passOn } = traced
  return (...args) =>
    tracing.span({ name, kind, attributes: attributes?.(args) ?? {} }, async (span) => {
      const result = await method.apply(target, passOn === undefined ? [...args] : [...passOn(args, tracing.headers())])
      if (isFailure(result)) span.fail(result.left.tag)
      return result
    })
}

/** Returns a port whose named methods are spans. Its other members are as before. */
const tracedPort = <A extends object>(tracing: Tracing, port: A, methods: Methods): A => {
  const wrapped = new Map<string | symbol, unknown>()
  return new Proxy(port, {
    get: (target, key): unknown => {
      if (wrapped.has(key)) return wrapped.get(key)
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const traced = typeof key === 'string' ? methods[key] : undefined
      const used: unknown =
        traced === undefined ? value.bind(target) : tracedMethod(tracing, target, value as Method, traced)
      wrapped.set(key, used)
      return used
    },
  })
}

/** Returns bindings that make traced ports. Without traces they are those that were given. */
export const tracedBindings = (tracing: Tracing, bindings: readonly Binding[]): readonly Binding[] =>
  tracing.isOn
    ? bindings.map((binding) => {
        const methods = tracedPorts[binding.token.name]
        const { make } = binding
        return methods === undefined
          ? binding
          : { ...binding, make: (given) => tracedPort(tracing, make(given) as object, methods) }
      })
    : bindings
