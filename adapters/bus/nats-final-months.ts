import type { NatsConnection } from '@nats-io/transport-node'
import { Unavailable } from '../../core/kernel/failure.ts'
import type { FinalMonthBus } from '../../core/usage/final-months/ports.ts'
import { finalMonthsOfAll } from '../../core/usage/final-months/ports.ts'
import type { KeptConnectionOptions } from './nats-connection.ts'
import { connectBy } from './nats-connection.ts'

const streamName = 'usage-months'
const keptMs = 100 * 24 * 3600 * 1000
const duplicatesMs = 3600 * 1000
const ackTimeoutMs = 5_000

/** Creates the stream. It keeps messages for 100 days and drops duplicates that are published within an hour. */
const ensureStream = async (connection: NatsConnection): Promise<void> => {
  const { jetstreamManager, RetentionPolicy, StorageType } = await import('@nats-io/jetstream')
  const { nanos } = await import('@nats-io/transport-node')
  const { streams } = await jetstreamManager(connection, { timeout: ackTimeoutMs })
  const config = {
    name: streamName,
    subjects: [finalMonthsOfAll],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    max_age: nanos(keptMs),
    duplicate_window: nanos(duplicatesMs),
    max_bytes: 64 * 1024 * 1024,
  }
  const known = await streams.info(streamName).catch(() => undefined)
  if (known === undefined) await streams.add(config)
  else await streams.update(streamName, config)
}

/** FinalMonthBus over NATS JetStream. Months become final rarely: it connects for each call. */
export const makeNatsFinalMonthBus = ({
  servers,
  login,
}: Pick<KeptConnectionOptions, 'servers' | 'login'>): FinalMonthBus => ({
  async publish(messages) {
    const given = await login()
    if (given === undefined) throw new Unavailable('The keys of the message bus were not created.')
    const connection = await connectBy({ servers }, given, false)
    try {
      await ensureStream(connection)
      const { jetstream } = await import('@nats-io/jetstream')
      const stream = jetstream(connection, { timeout: ackTimeoutMs })
      for (const { subject, id, body } of messages)
        await stream.publish(subject, body, { msgID: id, timeout: ackTimeoutMs })
    } finally {
      await connection.close()
    }
  },
})

/** Messages stay inside the process, where no program reads these. */
export const noFinalMonthBus: FinalMonthBus = { publish: async () => undefined }
