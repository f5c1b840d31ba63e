import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/**
 * The environment of a thread that gets none of the service's variables: the folder in which Node keeps compiled code.
 * Without it a thread or a process of the service compiles all its modules at each start.
 */
export const threadEnvironment = (): Readonly<Record<string, string>> => {
  // Node appends its version and architecture to the folder that it is given.
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}
