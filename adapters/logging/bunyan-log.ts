import bunyan from 'bunyan'
import type { Log } from '../../core/kernel/log.ts'
import type { BatchedLines } from './log-lines.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../../core/platform/ports.ts'

export interface BunyanLogOptions {
  readonly level: bunyan.LogLevelString
  readonly lines: Pick<BatchedLines, 'add'>
  readonly name?: string
}

/**
 * Writes Bunyan records, one JSON object per line. Only our own serializers are used: `error` and `err` log an explicit
 * set of fields.
 */
export const makeBunyanLog = ({ level, lines, name = 'moorage' }: BunyanLogOptions): Log => {
  const stream = { write: (record: object) => lines.add(lineOf(record)) } as unknown as NodeJS.WritableStream
  const logger = bunyan.createLogger({
    name,
    streams: [{ type: 'raw', level, stream }],
    serializers: { error: errorFields, err: errorFields },
  })
  const ownFields = JSON.stringify({ ...logger.fields, level: bunyan.INFO }).slice(0, -1)
  const writesInfo = logger.level() <= bunyan.INFO
  const timeText = makeTimeText()
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => {
      if (!writesInfo) return
      const text = plainFields(fields)
      if (text === undefined) return logger.info(fields, message)
      lines.add(`${ownFields}${text},"msg":${quoted(message)},"time":"${timeText()}","v":${recordVersion}}\n`)
    },
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  }
}

/** Of the shape of a record: `LOG_VERSION` of bunyan. */
const recordVersion = 0

/** Fields that bunyan sets, those that a serializer writes, and one that it does not copy. */
const namesOfBunyan: ReadonlySet<string> = new Set([
  ...['name', 'hostname', 'pid', 'level', 'msg', 'time', 'v', 'src'],
  ...['error', 'err', '__proto__'],
])

/** Characters that JSON has as they are. */
const needsNoEscape = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

const quoted = (text: string): string => (needsNoEscape.test(text) ? `"${text}"` : JSON.stringify(text))

/** The names of fields as they are written; lines of one kind have the same. */
const writtenNames = new Map<string, string>()
const mostNames = 500

const writtenName = (name: string): string => {
  const known = writtenNames.get(name)
  if (known !== undefined) return known
  const written = `,${quoted(name)}:`
  if (writtenNames.size < mostNames) writtenNames.set(name, written)
  return written
}

/**
 * Returns the JSON of fields as it is inside of a record, with a comma before each. Returns undefined if bunyan must
 * write the record: a field is an object, or one that bunyan sets itself. The lines of requests, most of a log, are
 * written without bunyan's copies, in one pass.
 */
const plainFields = (fields: object): string | undefined => {
  let text = ''
  for (const name of Object.keys(fields)) {
    const value: unknown = fields[name as keyof typeof fields]
    if (namesOfBunyan.has(name)) return undefined
    if (value === undefined) continue
    if (typeof value === 'string') text += writtenName(name) + quoted(value)
    else if (typeof value === 'number') text += writtenName(name) + (Number.isFinite(value) ? String(value) : 'null')
    else if (typeof value === 'boolean') text += writtenName(name) + String(value)
    else return undefined
  }
  return text
}

/** Returns the function that gives the time of this machine, as bunyan writes it. Many lines have the same. */
const makeTimeText = (): (() => string) => {
  let [lastMs, text] = [Number.NaN, '']
  return () => {
    // Bunyan gives its lines the time of this machine.
    // eslint-disable-next-line no-restricted-syntax
    const now = Date.now()
    if (now === lastMs) return text
    lastMs = now

    return (text = new Date(now).toISOString())
  }
}

const lineOf = (record: object): string => {
  try {
    return `${JSON.stringify(record, asJson)}\n`
  } catch {
    const { level, time, msg } = record as { readonly level?: unknown; readonly time?: unknown; readonly msg?: unknown }
    return `${JSON.stringify({ level, time, msg, note: 'fields left out: they are no JSON' })}\n`
  }
}

const asJson = (_key: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Error ? errorFields(value) : value
}

/** The fields of an error that are logged. */
export interface ErrorFields {
  readonly name: string
  readonly code?: string
  readonly message?: string
  readonly at?: readonly string[]
  readonly cause?: ErrorFields
}

const deepest = 3

/**
 * Returns an explicit set of an error's fields. A driver's message may quote values and statements, so it is kept only
 * where it is known to name tables, columns and states alone; otherwise only its code and stack positions are.
 */
export const errorFields = (error: unknown, depth = 0): ErrorFields => {
  if (!(error instanceof Error)) return { name: typeof error }
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  return {
    name: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...messageOf(error),
    at: frames(error),
    ...(cause !== undefined && depth < deepest ? { cause: errorFields(cause, depth + 1) } : {}),
  }
}

const messageOf = (error: Error): { readonly message?: string } =>
  !isOfDriver(error)
    ? { message: error.message }
    : harmless.some((form) => form.test(error.message))
      ? { message: error.message }
      : {}

/**
 * What SQLite, MySQL and MariaDB say about tables, columns, and what they cannot do now. No value of a statement occurs
 * in it.
 */
const name = String.raw`[\w.$/-]+`
const harmless: readonly RegExp[] = [
  `no such (table|column|index|function|module|trigger|view|savepoint): ${name}`,
  `(table|view|index) ${name} (already exists|has no column named ${name})`,
  `(UNIQUE|NOT NULL|FOREIGN KEY) constraint failed(: ${name}(, ${name})*)?`,
  'database (or disk is full|is locked|table is locked|schema has changed|disk image is malformed)',
  'attempt to write a readonly database|disk I/O error|unable to open database file|file is not a ' +
    'database|out of memory|interrupted',
  `Table '${name}' (doesn't exist|already exists)`,
  `Unknown (column|table) '${name}'( in '[\\w ]+')?`,
  `The table '${name}' is full`,
  '(Deadlock found when trying to get lock|Lock wait timeout exceeded); try restarting transaction',
  'The (MariaDB|MySQL) server is running with the [\\w=, -]+ option so it cannot execute this statement',
  'Too many connections|Query execution was interrupted( \\(max_statement_time exceeded\\))?|Server ' +
    'shutdown in progress|MySQL server has gone away',
].map((form) => new RegExp(`^(?:${form})$`))

const isOfDriver = (error: Error): boolean => {
  const { code } = error as { readonly code?: unknown }
  return (
    'sql' in error ||
    'sqlMessage' in error ||
    'sqlState' in error ||
    (typeof code === 'string' && /^(SQLITE_|ER_)/.test(code))
  )
}

/** Returns the stack without its first lines, which repeat the message. */
const frames = (error: Error): readonly string[] =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 12)
    .map((line) => line.trim())

/** What every line of the log says that is written during a piece of work, such as a request. */
interface ScopeFields {
  readonly requestId?: string
  readonly task?: string
}

/** Adds to lines of the log for which request, and in which trace, they are written. */
export interface LogScope {
  /** Runs work. Lines that it writes, also later on, have the fields. */
  run<A>(fields: ScopeFields, work: () => A): A
  /** Returns a log that adds the fields of the work that writes. The fields of a line itself count first. */
  logOf(log: Log): Log
}

/** @param trace returns the trace that surrounds the call. */
export const makeLogScope = (trace: () => TraceContext | undefined): LogScope => {
  const scope = new AsyncLocalStorage<ScopeFields>()
  const withScope = (fields: object): object => {
    const traced = trace()
    const store = scope.getStore()
    // The line of a request has these itself; a copy would cost as much as the rest of the line.
    if (traced === undefined && (store === undefined || (store.task === undefined && 'requestId' in fields)))
      return fields
    const shown = traced && { traceId: traced.traceId, spanId: traced.spanId }
    return { ...store, ...shown, ...fields }
  }
  return {
    run: (fields, work) => scope.run(fields, work),
    logOf: (log) => ({
      debug: (fields, message) => log.debug(withScope(fields), message),
      info: (fields, message) => log.info(withScope(fields), message),
      warn: (fields, message) => log.warn(withScope(fields), message),
      error: (fields, message) => log.error(withScope(fields), message),
    }),
  }
}
