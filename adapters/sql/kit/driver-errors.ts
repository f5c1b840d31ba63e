import { Unavailable } from '../../../core/kernel/failure.ts'

interface DriverError {
  readonly code: string
  readonly number: number
  readonly message: string
}

const read = (error: unknown): DriverError => {
  const source = error instanceof Unavailable && error.cause !== undefined ? error.cause : error
  if (typeof source !== 'object' || source === null) return { code: '', number: 0, message: '' }
  const fields = source as { code?: unknown; errno?: unknown; sqlMessage?: unknown; message?: unknown }
  return {
    code: typeof fields.code === 'string' ? fields.code : '',
    number: typeof fields.errno === 'number' ? fields.errno : 0,
    message: String(fields.sqlMessage ?? fields.message ?? ''),
  }
}

/** Errors of vtgate name the shard first, and have the statement with its values after the message of the server. */
const ofShard = 'target: '
const serverText = (message: string): string =>
  message.startsWith(ofShard) ? message.split(' (errno ', 1).join() : message

/**
 * Reports whether a unique key refused the row. With a hint, only a key whose name or columns contain it: MySQL names
 * the key (`roles_org_id_lower_name_unique`), SQLite the columns (`roles.org_id, roles.lower_name`), so a column's name
 * fits both.
 */
export const isUniqueViolation = (error: unknown, hint?: string): boolean => {
  const { code, number, message } = read(error)
  const unique =
    number === 1062 || number === 1586 || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
  if (!unique || hint === undefined) return unique
  // In MySQL's message the value precedes the key and may contain any text.
  const text = serverText(message)
  return text.slice(text.lastIndexOf(' for key ') + 1).includes(hint)
}

/** Reports whether a foreign key refused the change: the row's parent does not exist, or the row still has children. */
export const isForeignKeyViolation = (error: unknown): boolean => {
  const { code, number } = read(error)
  return number === 1451 || number === 1452 || code === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

/** Reports whether the user of the database has no right to do this, such as to change the schema. */
export const isDenied = (error: unknown): boolean => {
  const { number } = read(error)
  return number === 1142 || number === 1044
}

/** Reports whether a table does not exist. */
export const isMissingTable = (error: unknown): boolean => {
  const { code, number, message } = read(error)
  return number === 1146 || (code === 'SQLITE_ERROR' && message.startsWith('no such table'))
}

// 1213 deadlock, 1020 the row changed under a snapshot, 3101 group replication refused the commit, 9007/8022/8028 TiDB.
const retryableNumbers = new Set([1213, 1020, 3101, 9007, 8022, 8028])

/**
 * Reports whether the database rolled back the whole transaction through no fault of the transaction, so that a retry
 * may succeed.
 */
export const isRetryable = (error: unknown): boolean =>
  retryableNumbers.has(read(error).number) || read(error).code === 'SQLITE_BUSY_SNAPSHOT'

/**
 * How many times in total a transaction, or a statement that is one of its own, is attempted while its errors are
 * `isRetryable`.
 */
export const collisionAttempts = 4

/**
 * Returns the milliseconds to wait after the given attempt, from 1. They are random, so that transactions that collided
 * do not collide again.
 */
export const collisionPause = (attempt: number): number => Math.random() * 10 * 2 ** attempt

const lostCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_PACKETS_OUT_OF_ORDER',
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'MOORAGE_STATEMENT_TIMEOUT',
  'MOORAGE_CONNECTION_CLOSED',
])
// The server is shutting down, killed the connection, or reports that it is gone.
const lostNumbers = new Set([1053, 1927, 2006, 2013])
// 1317 and 3024/1969 end the statement; 1080/1077 announce that the server closes the connection.
const lostMessages = /connection is in closed state|Pool is closed|Connection lost|server closed the connection/i

/**
 * Reports whether the connection was lost during the statement. The error does not show what the statement did, if
 * anything.
 */
export const isConnectionLost = (error: unknown): boolean => {
  const { code, number, message } = read(error)
  return lostCodes.has(code) || lostNumbers.has(number) || lostMessages.test(message)
}

// vtgate answers while the servers of a shard are away, or change their primary. It has no number for that.
const awayMessages =
  /no healthy tablet available|code = Unavailable|not serving|operation not allowed in state|being resharded/i
const isShardAway = ({ number, message }: DriverError): boolean =>
  number === 1105 && message.startsWith(ofShard) && awayMessages.test(serverText(message))

/** Reports whether a commit that was answered with this error may have been made. */
export const isCommitUnknown = (error: unknown): boolean => isConnectionLost(error) || isShardAway(read(error))

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EMFILE',
  'HANDSHAKE_SSL_ERROR',
  'HANDSHAKE_NO_SSL_SUPPORT',
  'SQLITE_BUSY',
  'SQLITE_BUSY_RECOVERY',
  'SQLITE_BUSY_TIMEOUT',
  'SQLITE_LOCKED',
  'SQLITE_FULL',
  'SQLITE_CANTOPEN',
])
// The server does not let this account in: wrong password, no right, locked, expired, from a host that is blocked or
// not allowed.
const refusedAccount: ReadonlySet<number> = new Set([1045, 1044, 1820, 1862, 3118, 4151, 1129, 1130])
const unavailableNumbers = new Set([
  ...refusedAccount,
  1040,
  1203,
  1226, // too many connections
  1205, // lock wait timeout
  1969,
  3024,
  1317, // the statement's own time limit, interrupted
  1290,
  1792,
  1836, // read-only
  1021,
  1114,
  1041,
  1037,
  1135, // disk or memory full, no thread
  1615, // no room for the tables of the statement
])

/** Codes of a wrong setting or a full disk: waiting does not help. */
const lastingCodes: ReadonlySet<string> = new Set([
  ...['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT', 'SQLITE_FULL', 'SQLITE_CANTOPEN'],
])

/** Reports whether the database is away, or has no room for another caller, which may change by itself. */
export const isAway = (error: unknown): boolean => {
  const { code, number } = read(error)
  return isUnavailable(error) && !lastingCodes.has(code) && !refusedAccount.has(number)
}

/**
 * Reports whether the database cannot serve now (away, full, read-only, overloaded) although the statement is valid.
 */
export const isUnavailable = (error: unknown): boolean => {
  if (error instanceof Unavailable) return true
  const { code, number } = read(error)
  return (
    isConnectionLost(error) ||
    isShardAway(read(error)) ||
    unavailableCodes.has(code) ||
    /^SQLITE_(IOERR|READONLY)/.test(code) ||
    unavailableNumbers.has(number)
  )
}

const refusedChangeNumbers = new Set([1290, 1792, 1836, 1021, 1114])

/**
 * Reports whether the database refused a change because it is read-only or full, or cannot write its files. Reads may
 * still work.
 */
export const refusesChanges = (error: unknown): boolean => {
  const { code, number } = read(error)
  return refusedChangeNumbers.has(number) || /^SQLITE_(FULL|READONLY|IOERR)/.test(code)
}

const words = (error: unknown): string => {
  const { code, number } = read(error)
  if (number === 1205 || code.startsWith('SQLITE_BUSY')) return 'The database is busy with another change. Try again.'
  if (number === 1290 || number === 1792 || number === 1836 || code.startsWith('SQLITE_READONLY'))
    return 'The database takes no changes at present.'
  if (number === 1021 || number === 1114 || code === 'SQLITE_FULL') return 'The database is full and takes no changes.'
  if (refusedAccount.has(number)) return 'The database does not accept the account of the service at present.'
  return 'The database does not answer at present. Try again.'
}

/**
 * Returns what the runner throws for a driver's error: `Unavailable` if a later retry may succeed, otherwise the error
 * itself.
 */
export const toThrown = (error: unknown): unknown =>
  error instanceof Unavailable || isRetryable(error) || !isUnavailable(error)
    ? error
    : new Unavailable(words(error), { cause: error })

// A table, column, key or foreign key already exists; a table, column or key to drop does not.
const alreadyDoneNumbers = new Set([1050, 1060, 1061, 1068, 1826, 1051, 1091])

/** Reports whether a schema change was refused because it was already made. */
export const isAlreadyDone = (error: unknown): boolean => {
  const { number, message } = read(error)
  return alreadyDoneNumbers.has(number) || (number === 1005 && message.includes('errno: 121'))
}
