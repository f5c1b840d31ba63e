import type { LogScope } from '../../../adapters/logging/bunyan-log.ts'
import { makeLogScope } from '../../../adapters/logging/bunyan-log.ts'
import type { SqlDatabase, SqlRunner, StatementText } from '../../../adapters/sql/kit/statement.ts'
import type { OtlpOptions, OtlpTracing } from '../../../adapters/tracing/otlp-tracing.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { SpanStart, Tracing } from '../../../core/platform/ports.ts'
import { noTracing } from '../../../core/platform/ports.ts'
import { releaseVersion } from '../../../core/platform/version.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'

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
  { otlpEndpoint, otlpHeaders, tracePercent }: RuntimeSettings,
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
export const openTracing = async (settings: RuntimeSettings, instanceId: string, log: Log): Promise<OpenTracing> => {
  const target = otlpTargetOf(settings, instanceId)
  if (target === undefined) return noOpenTracing()
  const { openOtlpTracing } = await import('../../../adapters/tracing/otlp-tracing.ts')
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
