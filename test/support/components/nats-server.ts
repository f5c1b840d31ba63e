import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { natsServer } from './available.ts'
import { startProcess, untilReady, type BackgroundProcess } from './background-process.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

/** A nats-server of one's own. */
export interface NatsServer {
  /** An orderly stop; the folder goes too. */
  stop(): Promise<void>
  /** SIGKILL; what it has stored stays for `restart`. */
  kill(): Promise<void>
  /** Starts again with the same configuration and, unless `wipe` says so, on what it has stored. */
  restart(options?: { readonly wipe?: boolean }): Promise<void>
  /** What it has printed. */
  output(): string
}

/**
 * Starts nats-server with this configuration; `configure` is given a folder for what it stores. Ready when `port`
 * answers.
 */
export async function startNats(port: number, configure: (storeFolder: string) => string): Promise<NatsServer> {
  const file = await natsServer()
  if (file === undefined) throw new Error('nats-server is switched off in this run')
  const folder = createRunFolder('nats')
  let store = 0
  const launch = async (): Promise<BackgroundProcess> => {
    const configuration = join(folder, 'nats.conf')
    writeFileSync(configuration, configure(join(folder, `store-${store}`)))
    const started = startProcess({ name: 'nats-server', file, folder, arguments: ['-c', configuration] })
    await untilReady(started, () => answers(port), 60_000)
    return started
  }
  let running: BackgroundProcess
  try {
    running = await launch()
  } catch (error) {
    removeRunFolder(folder)
    throw error
  }
  return {
    output: () => running.output(),
    kill: () => running.kill(),
    stop: async () => {
      await running.stop()
      removeRunFolder(folder)
    },
    restart: async ({ wipe = false } = {}) => {
      await running.stop()
      if (wipe) store += 1
      running = await launch()
    },
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
