import { workerData } from 'piscina'
import type { DatabaseOptions } from '../../../adapters/sql/engine/database.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { packTextNow } from '../../../adapters/sql/usage/packed-text.ts'
import type { Gathered, GatherTask, Stop, ViewsTask } from '../../../core/usage/months/month-work.ts'
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

const stopOf = (stopped: Int32Array): Stop => ({
  throwIfAborted: () => {
    if (Atomics.load(stopped, 0) !== 0) throw new Error('The work was stopped.')
  },
})

const { databaseUrl, database, dataDir } = workerData as ClosingPlace
const work = makeClosingWork(await openDatabase(databaseUrl, database), makeClosingSpools(dataDir), {
  isAlone: true,
  pack: packTextNow,
})

/** Does a task of the pool. */
export const gather = ({ task, stopped }: Stoppable<GatherTask>): Promise<Ended<Gathered>> =>
  endOf(work.gather(task, stopOf(stopped)))

/** Does a task of the pool. */
export const writeViews = ({ task, stopped }: Stoppable<ViewsTask>): Promise<Ended<void>> =>
  endOf(work.writeViews(task, stopOf(stopped)))
