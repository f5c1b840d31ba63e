// process: own - starts workers of node:cluster, stops and kills them
import cluster from 'node:cluster'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { makeConnectionRecovery } from '../../composition/runtime/cli/serve-workers.ts'
import { until } from '../support/until.ts'

cluster.schedulingPolicy = cluster.SCHED_RR
cluster.setupPrimary({ exec: fileURLToPath(new URL('fixtures/listening-worker.ts', import.meta.url)), args: [] })

const startWorker = async (recover: ReturnType<typeof makeConnectionRecovery>) => {
  const worker = cluster.fork()
  recover(worker.process)
  // What cannot be written to a process that has ended.
  worker.on('error', () => undefined)
  const [port] = (await once(worker, 'message')) as [number]
  const pid = worker.process.pid ?? 0
  const kill = async (): Promise<void> => {
    if (worker.isDead()) return
    const gone = once(worker, 'exit')
    process.kill(pid, 'SIGKILL')
    await gone
  }
  return { worker, pid, port, kill, signal: (name: NodeJS.Signals) => void process.kill(pid, name) }
}

/** Asks on a connection of its own. Resolves with the process that answered, or `closed`. */
const ask = (port: number): Promise<string> =>
  new Promise((resolve) =>
    get({ port, host: '127.0.0.1', agent: false }, (res) =>
      res.setEncoding('utf8').once('data', (pid: string) => resolve(pid)),
    ).once('error', () => resolve('closed')),
  )

/** Asks until the first process has sent a connection to a worker that is stopped: one of two in turn is for it. */
const askBoth = async (port: number, other: { readonly pid: number }): Promise<readonly Promise<string>[]> => {
  const asked = Array.from({ length: 4 }, () => ask(port))
  let answered = 0
  for (const each of asked) void each.then((pid) => void (answered += pid === String(other.pid) ? 1 : 0))
  await until('the other has answered what is not for the stopped one', () => (answered === 3 ? true : undefined))
  return asked
}

const openFiles = (): number => readdirSync('/proc/self/fd').length

test.serial('another worker answers requests that a killed one had not accepted', async (t) => {
  const recover = makeConnectionRecovery()
  const survivor = await startWorker(recover)
  t.teardown(survivor.kill)
  const before = openFiles()
  for (let kill = 0; kill < 2; kill++) {
    const victim = await startWorker(recover)
    victim.signal('SIGSTOP')
    const asked = await askBoth(survivor.port, survivor)
    await victim.kill()
    t.deepEqual(new Set(await Promise.all(asked)), new Set([String(survivor.pid)]))
  }
  await until('what was sent is closed', () => (openFiles() <= before ? true : undefined))
})

test.serial('without workers waiting requests are closed at once', async (t) => {
  const recover = makeConnectionRecovery()
  const before = openFiles()
  const [a, b] = [await startWorker(recover), await startWorker(recover)]
  a.signal('SIGSTOP')
  const asked = [...(await askBoth(b.port, b))]
  b.signal('SIGSTOP')
  // One is sent to the second worker, and the others wait for either.
  asked.push(...Array.from({ length: 3 }, () => ask(b.port)))
  await until('all have arrived', () => (openFiles() >= before + 9 ? true : undefined))
  await Promise.all([a.kill(), b.kill()])
  t.is((await Promise.all(asked)).filter((answer) => answer === 'closed').length, 4)
  await until('all is closed', () => (openFiles() <= before ? true : undefined))
})

test.serial('requests during the close of the last worker are closed at once', async (t) => {
  const last = await startWorker(makeConnectionRecovery())
  t.teardown(last.kill)
  last.signal('SIGSTOP')
  last.worker.send('close')
  const before = openFiles()
  const asked = ask(last.port)
  await until('it has arrived', () => (openFiles() >= before + 2 ? true : undefined))
  last.signal('SIGCONT')
  t.is(await asked, 'closed')
})
