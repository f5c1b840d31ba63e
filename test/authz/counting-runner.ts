import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'

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
    all: (statement, binds) => counted(inner.all(statement, binds)),
    first: (statement, binds) => counted(inner.first(statement, binds)),
    run: (statement, binds) => counted(inner.run(statement, binds)),
    query: (build) => counted(inner.query(build)),
    taken: () => {
      const taken = count
      count = 0
      return taken
    },
  }
}
