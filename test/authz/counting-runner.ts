import type { SqlRunner, Statement } from '../../adapters/sql/kit/statement.ts'

/** A runner that counts the statements which it passes on. */
export interface CountingRunner extends SqlRunner {
  /** Statements since the last call. */
  taken(): number
}

export const countingRunner = (inner: SqlRunner): CountingRunner => {
  let count = 0
  const counted = <A>(result: A): A => {
    count += 1
    return result
  }
  return {
    dialect: inner.dialect,
    all: ((statement: Statement, binds: never) => counted(inner.all(statement, binds))) as SqlRunner['all'],
    first: ((statement: Statement, binds: never) => counted(inner.first(statement, binds))) as SqlRunner['first'],
    run: ((statement: Statement, binds: never) => counted(inner.run(statement, binds))) as SqlRunner['run'],
    query: (build) => counted(inner.query(build)),
    taken: () => {
      const taken = count
      count = 0
      return taken
    },
  }
}
