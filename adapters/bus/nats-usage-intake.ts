import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Log } from '../../core/kernel/log.ts'
import type { KeptConnectionOptions } from './nats-connection.ts'
import { makeKeptConnection } from './nats-connection.ts'

/** A message of the stream. */
export interface ReceivedMessage {
  readonly subject: string
  readonly body: Uint8Array
  readonly deliveries: number
}
type Fate = { readonly kind: 'done' } | { readonly kind: 'never' } | { readonly kind: 'later'; readonly seconds: number }

export interface NatsUsageIntakeOptions extends Pick<KeptConnectionOptions, 'servers' | 'login'> {
  readonly log: Log
  /** The subjects of the messages in the platform's account. */
  readonly subject: string
  /** Resolves after the commit; never rejects. */
  readonly handle: (message: ReceivedMessage) => Promise<Fate>
}

/** Both the stream and its one consumer, which all instances share. */
const name = 'usage'
const ackTimeoutMs = 5_000
/** After this time without an acknowledgement another instance receives the message. */
const ackWaitMs = 60_000
const keptMs = 35 * 24 * 3600 * 1000
const atATime = 500

/** Loaded only where a message bus is configured. */
const jetStreamLibrary = () => import('@nats-io/jetstream')

/**
 * Creates the stream and the consumer. The stream keeps each message until it is acknowledged. When it is full, it refuses further
 * messages, so that senders keep them: nothing that was accepted is lost.
 */
const ensureConsumer = async (connection: NatsConnection, subject: string): Promise<Consumer> => {
  const { AckPolicy, DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } = await jetStreamLibrary()
  const { nanos } = await import('@nats-io/transport-node')
  const manager = await jetstreamManager(connection, { timeout: ackTimeoutMs })
  const stream = {
    name,
    subjects: [subject],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    storage: StorageType.File,
    max_age: nanos(keptMs),
    max_bytes: 1024 * 1024 * 1024,
  }
  const known = await manager.streams.info(name).catch(() => undefined)
  if (known === undefined) await manager.streams.add(stream)
  else await manager.streams.update(name, stream)
  // A consumer that an operator has changed stays as it is.
  const consumer = await manager.consumers.info(name, name).catch(() => undefined)
  if (consumer === undefined) {
    await manager.consumers.add(name, { durable_name: name, ack_policy: AckPolicy.Explicit, ack_wait: nanos(ackWaitMs), max_deliver: -1, max_ack_pending: 4 * atATime })
  }
  return jetstream(connection, { timeout: ackTimeoutMs }).consumers.get(name, name)
}

const settle = (message: JsMsg, fate: Fate): void => {
  if (fate.kind === 'later') message.nak(fate.seconds * 1000)
  else if (fate.kind === 'never') message.term()
  else message.ack()
}

/** Receives messages of a JetStream stream, and acknowledges each after it was handled. A message that was not acknowledged comes again. */
export const makeNatsUsageIntake = ({ servers, login, log, subject, handle }: NatsUsageIntakeOptions): { start(): void; close(): Promise<void> } => {
  const underWay = new Set<Promise<void>>()
  let receiving: ConsumerMessages | undefined

  const take = (message: JsMsg): void => {
    const handled = handle({ subject: message.subject, body: message.data, deliveries: message.info.deliveryCount })
      .then((fate) => settle(message, fate))
      .catch((error: unknown) => log.warn({ reason: (error as Error).message }, 'a message with usage events was not acknowledged, and comes again'))
      .finally(() => void underWay.delete(handled))
    underWay.add(handled)
  }
  /** A stream or a consumer that was removed is created again by a new connection: this one would wait for it forever. */
  const watch = async (connection: NatsConnection, messages: ConsumerMessages): Promise<void> => {
    for await (const { type } of messages.status()) {
      if (type !== 'consumer_deleted' && type !== 'consumer_not_found' && type !== 'stream_not_found') continue
      log.warn({ reason: type }, 'the stream of usage events or its consumer is missing; connecting again')
      await connection.close()
      return
    }
  }
  const onUp = async (connection: NatsConnection): Promise<void> => {
    await receiving?.close()
    const messages = await (await ensureConsumer(connection, subject)).consume({ max_messages: atATime, callback: take })
    receiving = messages
    void watch(connection, messages).catch(() => undefined)
  }
  const kept = makeKeptConnection({ servers, login, log, purpose: 'usage', onUp })
  return {
    start: kept.start,
    close: async () => {
      receiving?.stop()
      await Promise.all(underWay)
      await kept.current()?.flush().catch(() => undefined)
      await kept.close()
    },
  }
}
