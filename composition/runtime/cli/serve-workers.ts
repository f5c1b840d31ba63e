import type { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../../core/kernel/log.ts'
import { bindProblem, orBindRefused } from '../../part/boot.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { ListenAddress } from '../../part/setting-type.ts'
import { addressUrl } from '../../part/setting-type.ts'
import { makeMergedMetrics, makeWorkerMetrics } from '../http/merged-metrics.ts'
import type { ReadinessCheck } from '../../part/readiness-check.ts'
import type { CheckResult } from '../http/ops-server.ts'
import { makeOpsServer } from '../http/ops-server.ts'
import type { FromWorker, WorkerFacts } from '../service/worker-link.ts'
import type { WorkerProcess, Workers } from '../service/workers.ts'
import { makeWorkers } from '../service/workers.ts'
import { programUrl } from '../../../adapters/system/processes.ts'

const main = fileURLToPath(programUrl('../../main', import.meta.url))

/**
 * The young generation of a worker: two halves of so many MiB. V8 would let each grow to 64, which keeps memory and
 * saves no CPU time here (docs/decisions/memory-at-rest.md).
 */
const semiSpace = '--max-semi-space-size'
const semiSpaceMiB = 32

/**
 * Returns the options of Node.js for workers: those of this process, with a smaller young generation unless they say
 * one.
 */
const workerArguments = (): string[] => {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')
  return given.includes(semiSpace) ? process.execArgv : [...process.execArgv, `${semiSpace}=${semiSpaceMiB}`]
}

/**
 * A message between node:cluster and a worker. Node does not document it: docs/decisions/workers.md gives the reason.
 */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  /** A listening socket. */
  readonly key?: string
  readonly seq?: number
  /** The `seq` that is answered. */
  readonly ack?: number
  readonly accepted?: boolean
  readonly errno?: number | null
}
const clusterCommand = 'NODE_CLUSTER'

interface SentConnection {
  readonly key: string
  readonly handle: { close(): void }
}

/**
 * Returns a function to be called with each worker when it is started. Connections that a worker has not accepted when
 * it ends go to another one that listens on the same socket, and are closed if there is none. node:cluster would keep
 * them open without an answer. A worker accepts before it reads, so the other one receives all that the client sends.
 * @internal
 */
export const makeConnectionRecovery = (): ((worker: ChildProcess) => void) => {
  const listening = new Map<ChildProcess, Set<string>>()
  const isListenedOn = (key: string): boolean => [...listening.values()].some((keys) => keys.has(key))
  return (worker) => {
    const keys = new Set<string>()
    const sent = new Map<number, SentConnection>()
    listening.set(worker, keys)
    const send = worker.send.bind(worker) as (...message: unknown[]) => boolean
    const noteSent = ({ cmd, act, key, seq, ack, errno }: ClusterMessage, handle: unknown): void => {
      if (cmd !== clusterCommand || key === undefined) return
      if (act === 'newconn' && seq !== undefined) sent.set(seq, { key, handle: handle as SentConnection['handle'] })
      // The answer to a worker that listens.
      else if (ack !== undefined && (errno ?? 0) === 0) keys.add(key)
    }
    const noteReceived = ({ cmd, act, key, ack, accepted }: ClusterMessage): void => {
      if (cmd !== clusterCommand) return
      if (act === 'close' && key !== undefined) keys.delete(key)
      const connection = ack === undefined ? undefined : sent.get(ack)
      if (ack === undefined || connection === undefined) return
      sent.delete(ack)
      // node:cluster puts what was refused into a queue, which no worker empties in this case.
      if (accepted !== true && !isListenedOn(connection.key)) connection.handle.close()
    }
    worker.send = (message: ClusterMessage, ...rest: unknown[]): boolean => {
      noteSent(message, rest[0])
      return send(message, ...rest)
    }
    worker.on('internalMessage', noteReceived)
    worker.once('disconnect', () => void listening.delete(worker))
    const settle = (): void => {
      // Node does not emit it while a connection is on its way, and node:cluster would still send to this worker.
      if (listening.has(worker)) worker.emit('disconnect')
      for (const ack of [...sent.keys()])
        worker.emit('internalMessage', { cmd: clusterCommand, ack, accepted: false } satisfies ClusterMessage)
    }
    const disconnect = worker.disconnect.bind(worker)
    // Node calls it at the end of the channel, after all that the worker sent was received.
    worker.disconnect = () => {
      disconnect()
      process.nextTick(settle)
    }
  }
}

const recoverConnections = makeConnectionRecovery()

/** Starts this command again as a worker, which shares listening sockets with the others. */
const forkWorker = (): WorkerProcess => {
  const worker = cluster.fork()
  recoverConnections(worker.process)
  // A message to a process that has ended.
  worker.on('error', () => undefined)
  return {
    pid: worker.process.pid,
    send: (message, done) => {
      if (worker.isConnected()) worker.process.send(message, () => done())
      else done()
    },
    onMessage: (listener) => void worker.on('message', (message: FromWorker) => listener(message)),
    onExit: (listener) => void worker.on('exit', listener),
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

/** Returns what the workers found: of each check the first failure, if any. */
const mergedResults = (found: readonly (readonly CheckResult[])[]): readonly CheckResult[] => {
  const merged = new Map<string, CheckResult>()
  for (const result of found.flat()) if (merged.get(result.name)?.passed !== false) merged.set(result.name, result)
  return [...merged.values()]
}

export interface ServeWorkersInput {
  readonly settings: RuntimeSettings
  readonly log: Log
  /** Called when the workers end again and again: the service must end. */
  readonly onGivenUp: (reason: string) => void
}

/** An instance of several processes. */
export interface RunningWorkers extends Pick<WorkerFacts, 'baseUrl' | 'marketplaceUrl' | 'firstAdmin'> {
  readonly opsUrl: string
  readonly plugins: readonly string[]
  readonly routes: number
  stop(how: { readonly drains: boolean }): Promise<boolean>
}

interface Watch {
  readonly start: () => Promise<RunningWorkers>
  /** Stops the workers, then the operations listener. */
  readonly stop: RunningWorkers['stop']
  /** Ends all processes immediately. */
  readonly kill: () => void
}

/** A worker that is missing is started again; the others serve. */
const workersCheck = (workers: Workers, count: number): ReadinessCheck => ({
  name: 'workers',
  isDegrading: true,
  check: async () => workers.serving() === count,
  reason: () => `${workers.serving()} of ${count} serve; what is missing is started again`,
})

/**
 * Returns an address with a port that is free now. Links and cookies name the port, so it must be known before a worker
 * can listen, and a socket that this process holds could not be shared then.
 */
const freeAddress = (host: string): Promise<ListenAddress> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, host, () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve({ host, port }))
    })
  })

/** How often a free port is chosen that another process takes before a worker listens on it. */
const mostPorts = 5

/** Chooses the port of the API if the setting leaves it to the system. */
const makeOwnAddress = ({ listen }: Pick<RuntimeSettings, 'listen'>) => {
  let address: ListenAddress | undefined
  let chosen = 0
  const choose = async (): Promise<void> => {
    if (listen.port !== 0) return
    chosen += 1
    address = await orBindRefused('MOORAGE_LISTEN', listen, () => freeAddress(listen.host))
  }
  return {
    current: () => address,
    choose,
    chooseAgain: async (problems: readonly string[]): Promise<boolean> => {
      const isTaken = address !== undefined && problems.includes(bindProblem('MOORAGE_LISTEN', address, inUse))
      if (!isTaken || chosen >= mostPorts) return false
      await choose()
      return true
    },
  }
}
const inUse = { code: 'EADDRINUSE' }

/** Returns the first process of an instance with workers: it serves the operations listener, and starts the workers. */
export const watchOverWorkers = (input: ServeWorkersInput): Watch => {
  const { settings, log } = input
  let opsAddress: ListenAddress = settings.opsListen
  const ownAddress = makeOwnAddress(settings)
  let isStarted = false
  let isStopping = false
  const workers = makeWorkers({
    count: settings.workers,
    fork: forkWorker,
    log,
    opsAddress: () => opsAddress,
    address: ownAddress.current,
    mayTryAgain: ownAddress.chooseAgain,
    onEnded: (process) => metrics.ended(process),
    onGivenUp: input.onGivenUp,
  })
  const metrics = makeMergedMetrics(makeWorkerMetrics(workers), async () => {
    await workers.ask('metrics', metrics.note)
  })
  const othersFound = async (): Promise<readonly CheckResult[]> => {
    const found: (readonly CheckResult[])[] = []
    const silent = await workers.ask('readiness', (_process, results) => void found.push(results))
    return [...mergedResults(found), { name: 'workers answer', passed: silent === 0 && found.length > 0 }]
  }
  const ops = makeOpsServer({
    checks: [{ name: 'all started', check: async () => isStarted }, workersCheck(workers, settings.workers)],
    isStopping: () => isStopping,
    metrics,
    othersFound,
    othersAnswer: async () => (await workers.ask('alive', () => undefined)) === 0,
  })
  const stop = async ({ drains }: { readonly drains: boolean }): Promise<boolean> => {
    isStopping = true
    const isOrderly = await workers.stop({ drains })
    await ops.close()
    return isOrderly
  }
  const start = async (): Promise<RunningWorkers> => {
    opsAddress = await orBindRefused('MOORAGE_OPS_LISTEN', settings.opsListen, () => ops.listen(settings.opsListen))
    // The system would give nearly all connections to one worker.
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: main, args: process.argv.slice(2), execArgv: workerArguments() })
    try {
      await ownAddress.choose()
      const facts = await workers.start()
      const [first] = facts as [WorkerFacts, ...WorkerFacts[]]
      isStarted = true
      const firstAdmin = facts.map((each) => each.firstAdmin).find((admin) => admin !== undefined)
      return { ...first, firstAdmin, opsUrl: addressUrl(opsAddress), stop }
    } catch (error) {
      await ops.close()
      throw error
    }
  }
  return { start, stop, kill: workers.kill }
}
