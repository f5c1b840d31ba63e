import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Log } from '../../core/kernel/log.ts'
import type { KeptConnectionOptions } from './nats-connection.ts'
import { makeKeptConnection } from './nats-connection.ts'

/** A message of the stream. */
interface ReceivedMessage {
  readonly subject: string
  readonly body: Uint8Array
  /** It was set aside before. */
  readonly isAside: boolean
  readonly deliveries: number
}
type EventOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'never' }
  | { readonly kind: 'later' | 'aside'; readonly seconds: number }

export interface NatsUsageIntakeOptions extends Pick<KeptConnectionOptions, 'servers' | 'login'> {
  readonly log: Log
  /**
   * The subjects of the messages in the platform's account. They end with `*`, which stands for the account that sent a
   * message.
   */
  readonly subject: string
  /** The subjects of the messages that were set aside, with the same end. */
  readonly asideSubject: string
  /** Resolves after the commit; never rejects. */
  readonly handle: (message: ReceivedMessage) => Promise<EventOutcome>
  /**
   * Called for each message that is not tried again because it cannot be set aside: its sender has too many there, or
   * the stream is full.
   */
  readonly onNoRoom: () => void
}

const ackTimeoutMs = 5_000
/** After this time without an acknowledgement another instance receives the message. */
const ackWaitMs = 60_000
const day = 24 * 3600 * 1000
const atATime = 500

/** A stream and its one consumer, which all instances share. Both have the same name. */
interface Source {
  readonly name: string
  readonly keptMs: number
  readonly maxMessagesOfSender?: number
  /** Messages that are delivered and not acknowledged. While there are as many, no other is delivered. */
  readonly maxPending: number
}

const direct: Source = { name: 'usage', keptMs: 35 * day, maxPending: 4 * atATime }
/** Its messages wait for an hour and count as delivered: those of one account must leave room for those of others. */
const aside: Source = { name: 'usage-aside', keptMs: 2 * day, maxMessagesOfSender: 100, maxPending: 20_000 }

/** Loaded only where a message bus is configured. */
const jetStreamLibrary = () => import('@nats-io/jetstream')

/**
 * Creates a stream and its consumer. The stream keeps each message until it is acknowledged. When it is full, it
 * refuses further messages, so that senders keep them: nothing that was accepted is lost.
 */
const ensureConsumer = async (
  connection: NatsConnection,
  { name, keptMs, maxMessagesOfSender, maxPending }: Source,
  subject: string,
): Promise<Consumer> => {
  const { AckPolicy, DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } =
    await jetStreamLibrary()
  const { nanos } = await import('@nats-io/transport-node')
  const manager = await jetstreamManager(connection, { timeout: ackTimeoutMs })
  const stream = {
    name,
    subjects: [subject],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    discard_new_per_subject: maxMessagesOfSender !== undefined,
    max_msgs_per_subject: maxMessagesOfSender ?? -1,
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
    await manager.consumers.add(name, {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: maxPending,
    })
  }
  return jetstream(connection, { timeout: ackTimeoutMs }).consumers.get(name, name)
}

/** The code of JetStream for a message that the limits of a stream refuse. */
const storeFailed = 10_077

const lastToken = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1)

const settle = (message: JsMsg, outcome: EventOutcome): void => {
  if (outcome.kind === 'later' || outcome.kind === 'aside') message.nak(outcome.seconds * 1000)
  else if (outcome.kind === 'never') message.term()
  else message.ack()
}

/**
 * Receives messages of a JetStream stream, and acknowledges each after it was handled. A message that was not
 * acknowledged comes again.
 */
export const makeNatsUsageIntake = ({
  servers,
  login,
  log,
  subject,
  asideSubject,
  handle,
  onNoRoom,
}: NatsUsageIntakeOptions): { start(): void; lag(): Promise<number | undefined>; close(): Promise<void> } => {
  const underWay = new Set<Promise<void>>()
  let receiving: readonly ConsumerMessages[] = []
  let consumers: readonly Consumer[] = []

  /** Acknowledges a message after it is in the other stream. It is not delivered again if there is no room for it. */
  const setAside = async (connection: NatsConnection, message: JsMsg): Promise<void> => {
    const { jetstream, JetStreamApiError } = await jetStreamLibrary()
    try {
      await jetstream(connection, { timeout: ackTimeoutMs }).publish(
        asideSubject.replace('*', lastToken(message.subject)),
        message.data,
      )
      message.ack()
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== storeFailed) throw error
      onNoRoom()
      message.term()
    }
  }
  const takeFrom =
    (connection: NatsConnection, source: Source) =>
    (message: JsMsg): void => {
      const isAside = source === aside
      const handled = handle({
        subject: message.subject,
        body: message.data,
        isAside,
        deliveries: message.info.deliveryCount,
      })
        .then((outcome) =>
          outcome.kind === 'aside' && !isAside ? setAside(connection, message) : settle(message, outcome),
        )
        .catch((error: unknown) =>
          log.warn(
            { reason: (error as Error).message },
            'a message with usage events was not acknowledged, and comes again',
          ),
        )
        .finally(() => void underWay.delete(handled))
      underWay.add(handled)
    }
  /**
   * A stream or a consumer that was removed is created again by a new connection: this one would wait for it forever.
   */
  const watch = async (connection: NatsConnection, messages: ConsumerMessages): Promise<void> => {
    for await (const { type } of messages.status()) {
      if (type !== 'consumer_deleted' && type !== 'consumer_not_found' && type !== 'stream_not_found') continue
      log.warn({ reason: type }, 'the stream of usage events or its consumer is missing; connecting again')
      await connection.close()
      return
    }
  }
  const receive = async (connection: NatsConnection, source: Source, subjects: string): Promise<ConsumerMessages> => {
    const consumer = await ensureConsumer(connection, source, subjects)
    const messages = await consumer.consume({ max_messages: atATime, callback: takeFrom(connection, source) })
    consumers = [...consumers, consumer]
    void watch(connection, messages).catch(() => undefined)
    return messages
  }
  const onUp = async (connection: NatsConnection): Promise<void> => {
    for (const messages of receiving) await messages.close()
    receiving = []
    consumers = []
    // What cannot be recorded yet needs a place before the first message comes.
    receiving = [await receive(connection, aside, asideSubject)]
    receiving = [...receiving, await receive(connection, direct, subject)]
  }
  const kept = makeKeptConnection({ servers, login, log, purpose: 'usage', onUp })
  return {
    start: kept.start,
    async lag() {
      const connection = kept.current()
      if (connection === undefined || connection.isClosed()) return undefined
      try {
        const infos = await Promise.all(consumers.map((consumer) => consumer.info()))
        return infos.reduce((sum, info) => sum + info.num_pending + info.num_ack_pending, 0)
      } catch {
        return undefined
      }
    },
    close: async () => {
      for (const messages of receiving) messages.stop()
      await Promise.all(underWay)
      await kept
        .current()
        ?.flush()
        .catch(() => undefined)
      await kept.close()
    },
  }
}
