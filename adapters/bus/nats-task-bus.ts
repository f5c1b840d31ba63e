import type { JetStreamClient } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { BusRights } from '../../core/bus/types.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { TaskBus, TaskMessage } from '../../core/tasks/ports.ts'
import { makeInProcessTaskBus } from './in-process-task-bus.ts'
import type { KeptConnection, KeptConnectionOptions } from './nats-connection.ts'
import { makeKeptConnection } from './nats-connection.ts'

export type NatsTaskBusOptions = Pick<KeptConnectionOptions, 'servers' | 'login' | 'log'>

/** A TaskBus and the connection that it uses. */
export interface NatsTaskBus extends TaskBus, Pick<KeptConnection, 'start' | 'close'> {
  isConnected(): boolean
}

/** Below `natjobs` but not in the stream: an old wake-up has no use. */
const wakeSubject = 'natjobs.wake'
const progressOfAll = 'natjobs.resp.*.*'
const streamName = 'natjobs'

/** What this adapter needs in the platform's account: to publish the progress of tasks, and to wake workers. */
export const taskBusRights: BusRights = {
  publish: ['natjobs.>', 'notifications.*', '$JS.API.>'],
  subscribe: ['natjobs.>', '_INBOX.>'],
}
const keptMs = 7 * 24 * 3600 * 1000
const duplicatesMs = 3600 * 1000
const ackTimeoutMs = 5_000

/**
 * Returns the messages of a task event. The progress of a task goes to its actor: each user's account imports the
 * subjects of its own tenant (core/bus/rights.ts). Notifications go to the actor and to the account that the task is
 * about.
 */
const messagesOf = ({
  task,
  event,
  isNotable,
}: TaskMessage): readonly { readonly subject: string; readonly id: string }[] => {
  const id = `${task.ref}.${event.seq}`
  const told = isNotable ? [...new Set<number>([task.actorId, task.tenantId])] : []
  return [
    { subject: `natjobs.resp.${task.actorId}.${task.responseId}`, id },
    ...told.map((tenant) => ({ subject: `notifications.${tenant}`, id: `${id}.${tenant}` })),
  ]
}

/** Loaded only where a message bus is configured. */
const jetStreamLibrary = () => import('@nats-io/jetstream')

/** Creates the stream. It keeps messages for a week and drops duplicates that are published within an hour. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { jetstreamManager, RetentionPolicy, StorageType } = await jetStreamLibrary()
  const { nanos } = await import('@nats-io/transport-node')
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

/**
 * Reports whether the server keeps streams for the account of the connection. Without streams the progress of tasks is
 * not published.
 */
export const hasStreams = async (connection: NatsConnection): Promise<boolean> => {
  try {
    const { jetstreamManager } = await jetStreamLibrary()
    const manager = await jetstreamManager(connection, { timeout: ackTimeoutMs, checkAPI: false })
    await manager.getAccountInfo()
    return true
  } catch {
    return false
  }
}

/** Returns the ref in `<ref>.<seq>`. */
const refOf = (messageId: string): string => messageId.slice(0, messageId.indexOf('.'))

/**
 * TaskBus over NATS JetStream. The server acknowledges a published message once it is stored; wake-ups and hints are
 * plain messages.
 */
export const makeNatsTaskBus = ({ servers, login, log }: NatsTaskBusOptions): NatsTaskBus => {
  const local = makeInProcessTaskBus()
  let subscribed: NatsConnection | undefined
  let stream: JetStreamClient | undefined

  const onUp = async (connection: NatsConnection): Promise<void> => {
    stream = undefined
    if (subscribed !== connection) {
      connection.subscribe(wakeSubject, { callback: () => local.wake() })
      connection.subscribe(progressOfAll, {
        callback: (_, message) => local.hint(refOf(message.headers?.get('Nats-Msg-Id') ?? '')),
      })
      subscribed = connection
    }
    // Messages sent while it was disconnected are not repeated.
    local.wake()
  }
  const kept = makeKeptConnection({ servers, login, log, purpose: 'tasks', onUp })

  const streamOf = async (): Promise<JetStreamClient> => {
    const connection = kept.current()
    if (connection === undefined) throw new Unavailable('The message bus is unavailable.')
    if (stream !== undefined) return stream
    await ensureStream(connection)
    const { jetstream } = await jetStreamLibrary()
    stream = jetstream(connection, { timeout: ackTimeoutMs })
    return stream
  }

  return {
    async publish(message) {
      // Readers in this process do not wait for an unavailable bus.
      local.hint(message.task.ref)
      const { seq, at, ...event } = message.event
      const payload = toWireJson({ ...event, seq, at: at.toISOString(), task: message.task.ref })
      try {
        const client = await streamOf()
        for (const { subject, id } of messagesOf(message))
          await client.publish(subject, payload, { msgID: id, timeout: ackTimeoutMs })
      } catch (error) {
        // The server may have lost its streams, so they are checked again the next time.
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
