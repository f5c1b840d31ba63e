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
