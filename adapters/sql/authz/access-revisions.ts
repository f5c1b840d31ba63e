import type { Knex } from 'knex'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { AccessMoment } from '../../../core/kernel/principal.ts'
import { long, pick, selectedAs } from '../kit/columns.ts'
import { collisionAttempts, collisionPause, isMissingTable, isRetryable } from '../kit/driver-errors.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { Prepared, SqlDatabase, SqlRunner, StatementText } from '../kit/statement.ts'
import { newRow, values } from '../kit/values.ts'
import { everyoneShard } from '../tables/access.ts'
import { forEveryone } from '../../outbound/account-limiter.ts'
import { accessRevisions } from '../tables/kernel.ts'
import { accessChangeOf, raisedShards } from './access-changes.ts'

/** The sum of all revisions is below 2^53. */
const greatestRevision = 2 ** 46
/** A transaction that concerns more shards concerns everyone. */
const mostRaised = 8

/**
 * Returns a revision that no other change has. A number that counts on would repeat itself after the loss of the last
 * changes, in a failover for example: what was remembered with a lost change would count again.
 */
const newRevision = (): number => 1 + Math.floor(Math.random() * (greatestRevision - 1))

const statementsOfRaise = (database: Pick<SqlDatabase, 'prepare'>) => {
  const row = pick(accessRevisions, 'shard', 'revision')
  return {
    replace: database.prepare(row, (k, p) =>
      k('access_revisions')
        .where('shard', p.shard)
        .update(values(accessRevisions, { revision: p.revision })),
    ),
    add: database.prepare(row, (k, p) =>
      k('access_revisions').insert(newRow(accessRevisions, p)).onConflict('shard').merge(['revision']),
    ),
  }
}

type Raising = ReturnType<typeof statementsOfRaise>

/** Gives a shard a new revision. A row that does not exist yet is added. */
const raiseShard = async (runner: SqlRunner, raising: Raising, shard: number): Promise<void> => {
  const row = { shard, revision: newRevision() }
  if ((await runner.run(raising.replace, row)).affected === 0) await runner.run(raising.add, row)
}

/** Raises revisions last in a transaction: their rows are locked for the time of the commit only, in one order. */
const raise = async (tx: SqlRunner, raising: Raising, shards: ReadonlySet<number>): Promise<void> => {
  const raised = shards.size > mostRaised || shards.has(everyoneShard) ? [everyoneShard] : [...shards]
  try {
    for (const shard of raised.sort((a, b) => a - b)) await raiseShard(tx, raising, shard)
  } catch (error) {
    // Before its migration no process remembers anything.
    if (!isMissingTable(error)) throw error
  }
}

/** Runs the statements of a transaction, and collects the shards that they raise. */
const raisingRunner = (
  tx: SqlRunner,
  compose: (build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) => StatementText,
  shards: Set<number>,
): SqlRunner => {
  const noted = (statement: StatementText, binds: object): void => {
    for (const shard of raisedShards(statement, binds)) shards.add(shard)
  }
  const all = (async (statement: StatementText, binds: object) => {
    noted(statement, binds)
    return tx.all(statement as never, binds as never)
  }) as SqlRunner['all']
  return {
    dialect: tx.dialect,
    all,
    first: (async (statement: StatementText, binds: object) => {
      noted(statement, binds)
      return tx.first(statement as never, binds as never)
    }) as SqlRunner['first'],
    run: async (statement, binds) => {
      const result = await tx.run(statement, binds)
      if (result.affected > 0) noted(statement, binds)
      return result
    },
    query: <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) => all(compose(build) as Prepared<object, Row>, {}),
  }
}

/**
 * Returns the database so that each change of what decides access raises the revision of its accounts, in the
 * transaction of the change. A statement outside a transaction becomes one if it changes access.
 */
export const raisingRevisions = (
  database: SqlDatabase,
  compose: (build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) => StatementText,
): SqlDatabase => {
  const raising = statementsOfRaise(database)
  const transaction = <A>(work: (tx: SqlRunner) => Promise<A>): Promise<A> =>
    database.transaction(async (tx) => {
      const shards = new Set<number>()
      const result = await work(raisingRunner(tx, compose, shards))
      if (shards.size > 0) await raise(tx, raising, shards)
      return result
    })
  /** As a statement outside a transaction does, it is attempted again after a deadlock. */
  const alone = async <A>(step: (tx: SqlRunner) => Promise<A>): Promise<A> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction(step)
      } catch (error) {
        if (!isRetryable(error)) throw error
        if (attempt === collisionAttempts)
          throw new Unavailable('The database is busy with another change. Try again.', { cause: error })
      }
      await sleep(collisionPause(attempt))
    }
  }
  const all = ((statement: Prepared<object, unknown>, binds: object) =>
    accessChangeOf(statement) === 'nothing'
      ? database.all(statement, binds)
      : alone((tx) => tx.all(statement, binds))) as SqlRunner['all']
  return {
    ...database,
    transaction,
    all,
    first: ((statement: Prepared<object, unknown>, binds: object) =>
      accessChangeOf(statement) === 'nothing'
        ? database.first(statement, binds)
        : alone((tx) => tx.first(statement, binds))) as SqlRunner['first'],
    run: (statement, binds) =>
      accessChangeOf(statement) === 'nothing'
        ? database.run(statement, binds)
        : alone((tx) => tx.run(statement, binds)),
    query: <Row>(build: (k: Knex) => Knex.QueryBuilder | Knex.Raw) => all(compose(build) as Prepared<object, Row>, {}),
  }
}

/** Raises the revision of everyone: what is remembered before that no longer counts in any process. */
export const raiseEveryone = async (database: SqlDatabase): Promise<void> => {
  await raise(database, statementsOfRaise(database), new Set([everyoneShard]))
}

/**
 * A process of an older release raises nothing. One that has been silent for longer than this has ended, or does not
 * reach the database.
 */
const olderReleaseMilliseconds = 10 * 60 * 1000
/** A release that knows this migration raises revisions. */
const firstMigration = '0096-kernel-access-revisions'

const totalRow = { total: selectedAs(long()), older: selectedAs(long()) }

const statementsOf = (db: SqlDatabase) => ({
  total: db.prepare({}, totalRow, (k) =>
    k.raw(
      `select cast(coalesce(sum(revision), 0) as ${db.dialect === 'mysql' ? 'signed' : 'integer'}) as total,
      (select count(*) from instances as i where coalesce(i.known_schema, '') < '${firstMigration}' and i.beat_at > ${databaseNow(db.dialect)} - ${olderReleaseMilliseconds}) as older
      from access_revisions`,
    ),
  ),
  each: db.prepare({}, pick(accessRevisions, 'shard', 'revision'), (k) => k('access_revisions')),
})

/**
 * Reads the revisions with one small statement; with a second one after a change. SQLite counts the commits of all
 * processes, so it takes a statement only after one. Returns undefined if a process of an older release serves the
 * database.
 */
const makeReadRevisions = (db: SqlDatabase): (() => Promise<AccessMoment | undefined>) => {
  const statements = statementsOf(db)
  let last: { readonly total: number; readonly moment: AccessMoment } | undefined
  let atCommit: { readonly commits: number; readonly moment: AccessMoment | undefined } | undefined
  const readNow = async (): Promise<AccessMoment | undefined> => {
    const row = await db.first(statements.total, {})
    if (row === undefined || row.older > 0) return undefined
    if (last?.total === row.total) return last.moment
    const revisions: number[] = []
    let total = 0
    for (const { shard, revision } of await db.all(statements.each, {})) {
      revisions[shard] = revision
      total += revision
    }
    const moment = { revisions }
    last = { total, moment }
    return moment
  }
  return async () => {
    const commits = db.commits()
    if (commits !== undefined && atCommit?.commits === commits) return atCommit.moment
    const moment = await readNow()
    // A commit after the number was read has another number.
    if (commits !== undefined) atCommit = { commits, moment }
    return moment
  }
}

/** A read that lasts longer is no longer waited for: the next one begins beside it. */
const patienceMilliseconds = 50

/**
 * Shares a read among all who wait for it. A caller never gets a read that began before the call. A read begins at the
 * end of a turn of the event loop, for all requests that arrived in it; while one read lasts, all callers wait for the
 * next.
 *
 * @internal
 */
export const shareRead = <A>(
  read: () => Promise<A>,
  nowMs: () => number = () => performance.now(),
  afterTurn: (begin: () => void) => void = setImmediate,
): (() => Promise<A>) => {
  let current: { readonly ended: Promise<unknown>; readonly sinceMs: number } | undefined
  let next: Promise<A> | undefined
  const begin = (): Promise<A> => {
    const begun = read()
    const mine = { ended: begun.then(ended, ended), sinceMs: nowMs() }
    function ended(): void {
      if (current === mine) current = undefined
    }
    current = mine
    return begun
  }
  const together = (): Promise<A> =>
    new Promise((resolve, reject) => {
      afterTurn(() => {
        next = undefined
        begin().then(resolve, reject)
      })
    })
  return () => {
    if (current !== undefined && nowMs() - current.sinceMs > patienceMilliseconds) return begin()
    return (next ??= current === undefined ? together() : current.ended.then(together))
  }
}

/**
 * Returns the present revisions of everything that decides access, as of an instant after the call. The callers that
 * wait at the same time share a read.
 */
export const makeAccessRevisions = (db: SqlDatabase): (() => Promise<AccessMoment | undefined>) => {
  const read = makeReadRevisions(db)
  return shareRead(() => forEveryone(read))
}
