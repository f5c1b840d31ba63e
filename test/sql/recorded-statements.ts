import Database from 'better-sqlite3'

/** Records the statements that SQLite runs in this process, until `stop`. */
export interface RecordedStatements {
  /** Returns the texts of the statements that ran since the last call, each once. */
  taken(): readonly string[]
  stop(): void
}

export const recordSqliteStatements = (): RecordedStatements => {
  const scratch = new Database(':memory:')
  const prototype = Object.getPrototypeOf(scratch.prepare('select 1')) as Record<'all' | 'get', Ran>
  scratch.close()
  const originals = { all: prototype.all, get: prototype.get }
  let texts = new Set<string>()
  for (const name of ['all', 'get'] as const)
    prototype[name] = function (this: { readonly source: string }, ...binds: unknown[]) {
      texts.add(this.source)
      return originals[name].apply(this, binds)
    }
  return {
    taken: () => {
      const taken = [...texts]
      texts = new Set()
      return taken
    },
    stop: () => Object.assign(prototype, originals),
  }
}

type Ran = (this: { readonly source: string }, ...binds: unknown[]) => unknown
