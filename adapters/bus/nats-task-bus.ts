import { jetstream, jetstreamManager, RetentionPolicy, StorageType, type JetStreamClient } from '@nats-io/jetstream'
import { nanos, type NatsConnection } from '@nats-io/transport-node'
import { Unavailable } from '../../core/kernel/failure.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { TaskBus, TaskMessage } from '../../core/tasks/ports.ts'
import { makeInProcessTaskBus } from './in-process-task-bus.ts'
import type { KeptConnection, KeptConnectionOptions } from './nats-connection.ts'
import { makeKeptConnection } from './nats-connection.ts'

export type NatsTaskBusOptions = Pick<KeptConnectionOptions, 'servers' | 'login' | 'log'>

/** The bus, and the connection that it lives on. */
export interface NatsTaskBus extends TaskBus, Pick<KeptConnection, 'start' | 'close'> {
  isConnected(): boolean
}

/** Below `natjobs` and not of the stream: nobody needs a wake-up of yesterday. */
const wakeSubject = 'natjobs.wake'
const progressOfAll = 'natjobs.resp.*.*'
const streamName = 'natjobs'
const keptMs = 7 * 24 * 3600 * 1000
const duplicatesMs = 3600 * 1000
const ackTimeoutMs = 5_000

/**
 * Each user's account imports its own tenant's subjects (core/bus/rights.ts), so the progress of a task goes to its actor's;
 * the notifications go to the actor and to the account that the task is about.
 */
export const messagesOf = ({ task, event, isNotable }: TaskMessage): readonly { readonly subject: string; readonly id: string }[] => {
  const id = `${task.ref}.${event.seq}`
  const told = isNotable ? [...new Set<number>([task.actorId, task.tenantId])] : []
  return [
    { subject: `natjobs.resp.${task.actorId}.${task.responseId}`, id },
    ...told.map((tenant) => ({ subject: `notifications.${tenant}`, id: `${id}.${tenant}` })),
  ]
}

/** The stream keeps what was published for a week, and drops what is published again within the hour. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection, { timeout: ackTimeoutMs })
  const config = {
    name: streamName,
    subjects: [progressOfAll, 'notifications.*'],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(keptMs),
    duplicate_window: nanos(duplicatesMs),
    max_bytes: 1024 * 1024 * 1024,
  }
  const known = await streams.info(streamName).catch(() => undefined)
  if (known === undefined) await streams.add(config)
  else await streams.update(streamName, config)
}

/** Whether the server keeps streams for the account of the connection; without them the progress of tasks is not published. */
export const hasStreams = async (connection: NatsConnection): Promise<boolean> => {
  try {
    const manager = await jetstreamManager(connection, { timeout: ackTimeoutMs, checkAPI: false })
    await manager.getAccountInfo()
    return true
  } catch {
    return false
  }
}

/** The ref in `<ref>.<seq>`. */
const refOf = (messageId: string): string => messageId.slice(0, messageId.indexOf('.'))

/** TaskBus over NATS JetStream: what is published was stored by the server; wake-ups and hints are plain messages. */
export const makeNatsTaskBus = ({ servers, login, log }: NatsTaskBusOptions): NatsTaskBus => {
  const local = makeInProcessTaskBus()
  let subscribed: NatsConnection | undefined
  let stream: JetStreamClient | undefined

  const onUp = async (connection: NatsConnection): Promise<void> => {
    stream = undefined
    if (subscribed !== connection) {
      connection.subscribe(wakeSubject, { callback: () => local.wake() })
      connection.subscribe(progressOfAll, { callback: (_, message) => local.hint(refOf(message.headers?.get('Nats-Msg-Id') ?? '')) })
      subscribed = connection
    }
    // What was said while it was away is not repeated.
    local.wake()
  }
  const kept = makeKeptConnection({ servers, login, log, purpose: 'tasks', onUp })

  const streamOf = async (): Promise<JetStreamClient> => {
    const connection = kept.current()
    if (connection === undefined) throw new Unavailable('The message bus is away.')
    if (stream !== undefined) return stream
    await ensureStream(connection)
    stream = jetstream(connection, { timeout: ackTimeoutMs })
    return stream
  }

  return {
    async publish(message) {
      // Readers in this process need not wait for a bus that is away.
      local.hint(message.task.ref)
      const { seq, at, ...event } = message.event
      const payload = toWireJson({ ...event, seq, at: at.toISOString(), task: message.task.ref })
      try {
        const client = await streamOf()
        for (const { subject, id } of messagesOf(message)) await client.publish(subject, payload, { msgID: id, timeout: ackTimeoutMs })
      } catch (error) {
        // The server may have lost its streams; it is asked again the next time.
        stream = undefined
        throw error
      }
    },
    wake: () => {
      local.wake()
      kept.current()?.publish(wakeSubject)
    },
    onWake: local.onWake,
    onProgress: local.onProgress,
    start: kept.start,
    isConnected: () => kept.current() !== undefined,
    close: kept.close,
  }
}
