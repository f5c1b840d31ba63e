import bunyan from 'bunyan'
import type { Log } from '../../core/kernel/log.ts'
import type { BatchedLines } from './log-lines.ts'

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
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => {
      if (!writesInfo) return
      if (!isPlain(fields)) return logger.info(fields, message)
      // Bunyan gives its lines the time of this machine.
      // eslint-disable-next-line no-restricted-syntax
      const rest = JSON.stringify({ ...fields, msg: message, time: new Date(), v: recordVersion })
      lines.add(`${ownFields},${rest.slice(1)}\n`)
    },
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  }
}

/** Of the shape of a record: `LOG_VERSION` of bunyan. */
const recordVersion = 0

/** Fields that bunyan sets, and those that a serializer writes. */
const namesOfBunyan: ReadonlySet<string> = new Set([
  ...['name', 'hostname', 'pid', 'level', 'msg', 'time', 'v', 'src'],
  ...['error', 'err'],
])

/**
 * Reports whether the record is the fields with those of bunyan around them, so that it can be written without
 * bunyan's copies. That is so for the lines of requests, most of a log: it takes a third of the time.
 */
const isPlain = (fields: object): boolean => {
  for (const name in fields) {
    const value: unknown = fields[name as keyof typeof fields]
    if (typeof value === 'object' || typeof value === 'bigint' || typeof value === 'function') return false
    if (namesOfBunyan.has(name)) return false
  }
  return true
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
