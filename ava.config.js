import { availableParallelism } from 'node:os'

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
}
