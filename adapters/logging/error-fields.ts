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
 * Returns an explicit set of an error's fields. A driver's message quotes values and statements, so only its code and stack
 * positions are kept.
 */
export const errorFields = (error: unknown, depth = 0): ErrorFields => {
  if (!(error instanceof Error)) return { name: typeof error }
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  return {
    name: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(isOfDriver(error) ? {} : { message: error.message }),
    at: frames(error),
    ...(cause !== undefined && depth < deepest ? { cause: errorFields(cause, depth + 1) } : {}),
  }
}

const isOfDriver = (error: Error): boolean => {
  const { code } = error as { readonly code?: unknown }
  return 'sql' in error || 'sqlMessage' in error || 'sqlState' in error || (typeof code === 'string' && /^(SQLITE_|ER_)/.test(code))
}

/** Returns the stack without its first lines, which repeat the message. */
const frames = (error: Error): readonly string[] =>
  (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 12)
    .map((line) => line.trim())
