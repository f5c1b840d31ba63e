import { availableParallelism } from 'node:os'

import { readFileTimes } from './test/support/file-times.ts'

/** Seconds of the last run of each file; one that is new comes first, since it may be long. */
const lastSeconds = new Map(readFileTimes().map(({ file, wallSeconds }) => [file, wallSeconds]))
const secondsOf = (path) => lastSeconds.get(path.slice(path.lastIndexOf('/test/') + 1)) ?? 1_000

// ava reads its configuration from a default export.
export default {
  files: ['test/**/*.test.ts', '!test/support/**', '!test/**/fixtures/**'],
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
