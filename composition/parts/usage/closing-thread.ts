import { workerData } from 'piscina'
import type { DatabaseOptions } from '../../../adapters/sql/engine/database.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { packTextNow } from '../../../adapters/sql/usage/packed-text.ts'
import type { Gathered, GatherTask, Stop, ViewsTask } from '../../../core/usage/months/month-work.ts'
import type { StatementCounts } from '../../runtime/service/tracing.ts'
import { countedDatabase } from '../../runtime/service/tracing.ts'
import type { Ended } from './closing-work.ts'
import { endOf, makeClosingSpools, makeClosingWork } from './closing-work.ts'

/** What a thread needs to open the database and the spools. */
export interface ClosingPlace {
  readonly databaseUrl: string
  readonly database: DatabaseOptions
  readonly dataDir: string
}

/** A task with a number in shared memory that is not 0 once the task is to end. */
export interface Stoppable<Task> {
  readonly task: Task
  readonly stopped: Int32Array<SharedArrayBuffer>
}

/** How a task ended, and what it did. */
export interface ThreadEnd<Result> {
  readonly ended: Ended<Result>
  readonly statements: StatementCounts
  /** Waits for a connection, or for the turn to change the database. */
  readonly waits: StatementCounts
}

const stopOf = (stopped: Int32Array): Stop => ({
  throwIfAborted: () => {
    if (Atomics.load(stopped, 0) !== 0) throw new Error('The work was stopped.')
  },
})

const { databaseUrl, database, dataDir } = workerData as ClosingPlace
const { db, counts } = countedDatabase(await openDatabase(databaseUrl, database))
const work = makeClosingWork(db, makeClosingSpools(dataDir), { isAlone: true, pack: packTextNow })

const less = (later: StatementCounts, before: StatementCounts): StatementCounts => ({
  count: later.count - before.count,
  seconds: later.seconds - before.seconds,
})

/** A thread does one task at a time, so what was counted since is of the task. */
const endWithCounts = async <Result>(run: () => Promise<Result>): Promise<ThreadEnd<Result>> => {
  const [statements, waits] = [counts.statements(), counts.waits()]
  const ended = await endOf(run())
  return {
    ended,
    statements: less(counts.statements(), statements),
    waits: less(counts.waits(), waits),
  }
}

/** Does a task of the pool. */
export const gather = ({ task, stopped }: Stoppable<GatherTask>): Promise<ThreadEnd<Gathered>> =>
  endWithCounts(() => work.gather(task, stopOf(stopped)))

/** Does a task of the pool. */
export const writeViews = ({ task, stopped }: Stoppable<ViewsTask>): Promise<ThreadEnd<void>> =>
  endWithCounts(() => work.writeViews(task, stopOf(stopped)))
