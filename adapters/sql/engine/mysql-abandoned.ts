import type { Connection, RowDataPacket } from 'mysql2'

/** A connection that was closed here while the server executed its statement. */
export interface Abandoned {
  /** The server's number of the connection. */
  readonly id: number
  /** The name of the server's host; undefined if it is not known. */
  readonly host: string | undefined
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

/**
 * A server does not notice that a client is gone while it executes a statement of that client. MySQL, which by itself ends only slow reads,
 * would continue a slow change, keep its locks, and commit it although the client was refused.
 */
export const makeAbandonedStatements = ({ open, waitMilliseconds: timeout }: AbandonedStatementsDeps): AbandonedStatements => {
  const waiting: Abandoned[] = []
  let isRunning = false
  const endOn = async (connection: Connection): Promise<void> => {
    const [rows] = await connection.promise().query<RowDataPacket[]>({ sql: 'select @@hostname as host', timeout })
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      // Another server may have taken over, where the number belongs to another connection.
      if (next.host !== rows[0]?.['host']) continue
      // The server refuses the number of a connection that has ended already.
      await connection.promise().query({ sql: `kill ${next.id}`, timeout }).catch(() => undefined)
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
