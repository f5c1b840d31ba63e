import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FromGenerator, LoadTarget, SliceResult, ToGenerator } from './protocol.ts'

/** Asks servers in another process. */
export interface LoadGenerator {
  /** Loads the target for this long and waits for the answers that are under way. */
  slice(target: LoadTarget, seconds: number): Promise<SliceResult>
  /** Closes the connections of a target. */
  close(target: LoadTarget): Promise<void>
  stop(): void
}

interface Waiting {
  readonly resolve: (result: SliceResult | undefined) => void
  readonly reject: (error: Error) => void
}

type Request = ToGenerator extends infer M ? (M extends ToGenerator ? Omit<M, 'call'> : never) : never

export function startLoadGenerator(): LoadGenerator {
  const child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const waiting = new Map<number, Waiting>()
  let calls = 0
  child.on('message', (message: FromGenerator) => {
    const call = waiting.get(message.call)
    waiting.delete(message.call)
    if (message.error === undefined) call?.resolve(message.result)
    else call?.reject(new Error(`load generator: ${message.error}`))
  })
  child.once('exit', (code) => {
    for (const call of waiting.values()) call.reject(new Error(`the load generator ended with status ${code}`))
    waiting.clear()
  })
  const ask = (request: Request): Promise<SliceResult | undefined> =>
    new Promise((resolve, reject) => {
      calls += 1
      waiting.set(calls, { resolve, reject })
      child.send({ ...request, call: calls })
    })
  return {
    slice: async (target, seconds) => {
      const result = await ask({ kind: 'slice', target, seconds })
      if (result === undefined) throw new Error('the load generator answered without a result')
      return result
    },
    close: async (target) => {
      await ask({ kind: 'close', targetId: target.id })
    },
    stop: () => {
      child.removeAllListeners('exit')
      if (child.connected) child.disconnect()
      child.kill()
    },
  }
}
