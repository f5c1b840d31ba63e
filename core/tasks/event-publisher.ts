import type { Log } from '../kernel/log.ts'
import type { TaskBus, EventPublisher, OutboxItem, TaskOutbox } from './ports.ts'

export interface PublisherDeps {
  readonly outbox: TaskOutbox
  readonly bus: Pick<TaskBus, 'publish'>
  readonly log: Log
}

const batch = 100
const sweepMs = 5_000
const firstPauseMs = 500
/** Shorter than the time for which events belong to this process, so that no other process adopts them as lost. */
const longestPauseMs = 8_000

/**
 * Publishes committed events in order until the bus has accepted them: at once after `kick`, and with retries while the bus
 * is unreachable. An event is published once or, after a crash in between, a second time with the same id.
 */
export const makeEventPublisher = ({ outbox, bus, log }: PublisherDeps): EventPublisher => {
  let isStopped = false
  let isWanted = false
  let isTold = false
  let pauseMs = 0
  let running: Promise<void> | undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const publishAll = async (): Promise<void> => {
    for (let items = await outbox.mine(batch); items.length > 0; items = await outbox.mine(batch)) {
      const done: number[] = []
      try {
        for (const item of items) done.push(await publishOne(bus, item))
      } finally {
        if (done.length > 0) await outbox.published(done)
      }
    }
  }

  const work = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false
      try {
        await publishAll()
        if (isTold) log.info({}, 'events of tasks are published again')
        isTold = false
        pauseMs = 0
      } catch (error) {
        if (!isTold) log.warn({ reason: (error as Error).message }, 'events of tasks cannot be published; retrying')
        isTold = true
        pauseMs = Math.min(longestPauseMs, pauseMs === 0 ? firstPauseMs : pauseMs * 2)
        later(pauseMs)
        return
      }
    }
  }

  const later = (ms: number): void => {
    clearTimeout(retry)
    if (!isStopped) retry = setTimeout(kick, ms)
  }

  const kick = (): void => {
    isWanted = true
    if (isStopped || running !== undefined) return
    running = work().finally(() => {
      running = undefined
      // An event may have arrived after the last check.
      if (isWanted && pauseMs === 0) kick()
    })
  }

  const adopt = (): void => {
    outbox.adopt(batch).then((adopted) => {
      if (adopted > 0) kick()
    }, () => undefined)
  }
  let sweep: ReturnType<typeof setInterval> | undefined

  return {
    kick,
    start: () => {
      sweep ??= setInterval(adopt, sweepMs)
      kick()
    },
    stop: async () => {
      clearInterval(sweep)
      isStopped = true
      clearTimeout(retry)
      await running
    },
  }
}

const publishOne = async (bus: Pick<TaskBus, 'publish'>, { id, message }: OutboxItem): Promise<number> => {
  await bus.publish(message)
  return id
}
