import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import test from 'ava'
import { threadEnvironment } from '../../adapters/system/processes.ts'

test('a thread shares the compile cache and no environment variable', async (t) => {
  const own = mkdtempSync(join(tmpdir(), 'moorage-compiled-'))
  t.teardown(() => rmSync(own, { recursive: true, force: true }))
  // Does nothing where the run has set a folder.
  enableCompileCache(own)
  const folder = getCompileCacheDir()
  t.truthy(folder)
  const told =
    "require('node:worker_threads').parentPort.postMessage([require('node:module').getCompileCacheDir(), Object.keys(process.env)])"
  const thread = new Worker(told, { eval: true, env: threadEnvironment() })
  // The thread may have ended by the time that its message is looked at.
  const [message] = await Promise.all([once(thread, 'message'), once(thread, 'exit')])
  t.deepEqual(message, [[folder, ['NODE_COMPILE_CACHE']]])
})
