import { availableParallelism } from 'node:os'

// ava reads its configuration from a default export.
export default {
  files: ['test/**/*.test.ts', '!test/support/**', '!test/**/fixtures/**'],
  // The array form: Node runs the TypeScript as it stands, and ava leaves it alone.
  extensions: ['ts'],
  // Processes: a test may end its process, change its environment and load native modules.
  workerThreads: false,
  concurrency: Math.max(2, availableParallelism()),
  timeout: '3m',
}
