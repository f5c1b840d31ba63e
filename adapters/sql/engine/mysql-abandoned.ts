import type { Connection, RowDataPacket } from 'mysql2'

/** A connection that was closed here while the server executed its statement. */
interface Abandoned {
  /** The server's number of the connection. */
  readonly id: number
  /** The server that has given the number; undefined if it is not known. */
  readonly server: KnownServer | undefined
}

/** A server that a connection was made to. */
export interface KnownServer {
  /** The name of its host. */
  readonly host: string
  /** When the connection was made, as `performance.now()` returns it. */
  readonly at: number
}

/** Ends statements on the server that this process no longer waits for. */
export interface AbandonedStatements {
  /** Ends the statement and the connection. Does nothing if the server cannot be reached. */
  end(abandoned: Abandoned): void
}

export interface AbandonedStatementsDeps {
  /** Opens a connection in bounded time. */
  readonly open: () => Promise<Connection>
  /** The time limit of each statement that ends another. */
  readonly waitMilliseconds: number
}

/** A server counts the seconds since its start in whole ones. */
const uptimeStep = 1

/**
 * A server does not notice that a client is gone while it executes a statement of that client. MySQL, which by itself
 * ends only slow reads, would continue a slow change, keep its locks, and commit it although the client was refused.
 */
export const makeAbandonedStatements = ({
  open,
  waitMilliseconds: timeout,
}: AbandonedStatementsDeps): AbandonedStatements => {
  const waiting: Abandoned[] = []
  let isRunning = false
  const endOn = async (connection: Connection): Promise<void> => {
    const [hosts] = await connection.promise().query<RowDataPacket[]>({ sql: 'select @@hostname as host', timeout })
    const [status] = await connection
      .promise()
      .query<RowDataPacket[]>({ sql: "show global status like 'Uptime'", timeout })
    const [host, upSeconds] = [hosts[0]?.['host'], Number(status[0]?.['Value'])]
    const startedAt = performance.now() - (upSeconds + uptimeStep) * 1000
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      // If another server has taken over, or this one was restarted, the number belongs to another connection.
      if (next.server === undefined || next.server.host !== host || next.server.at < startedAt) continue
      // The server refuses the number of a connection that has ended already.
      await connection
        .promise()
        .query({ sql: `kill ${next.id}`, timeout })
        .catch(() => undefined)
    }
  }
  const endAll = async (): Promise<void> => {
    try {
      const connection = await open()
      await endOn(connection).finally(() => connection.destroy())
    } catch {
      waiting.length = 0
    }
    isRunning = false
  }
  return {
    end: (abandoned) => {
      waiting.push(abandoned)
      if (isRunning) return
      isRunning = true
      void endAll()
    },
  }
}
