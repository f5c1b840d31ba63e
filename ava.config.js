import { availableParallelism } from 'node:os'

import { lastSeconds } from './test/support/file-times.ts'

const seconds = lastSeconds()
/** Of the last run. A file that is new comes first, since it may be long. */
const secondsOf = (path) => seconds.get(path.slice(path.lastIndexOf('/test/') + 1)) ?? 1_000

// ava reads its configuration from a default export.
export default {
  files: [
    'test/**/*.test.ts',
    '!test/support/**',
    '!test/**/fixtures/**',
    ...(process.env['MOORAGE_SHARED_PROCESSES'] === 'true' ? [] : ['!test/shared-processes/**']),
  ],
  // The array form: Node runs the TypeScript as it stands, and ava leaves it alone.
  extensions: ['ts'],
  // Processes: a test may end its process, change its environment and load native modules.
  workerThreads: false,
  // One more than there are cores: a test waits for processes and databases as much as it computes.
  concurrency: Math.max(2, availableParallelism()) + 1,
  timeout: '3m',
  // A long file that starts last makes one core wait for the other.
  sortTestFiles: (one, other) => secondsOf(other) - secondsOf(one),
  require: ['./test/support/record-file-times.ts'],
}
