import type { Assertions } from './assertions.ts'
import type { PartMigrations } from '../../../adapters/sql/kit/migration.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'

/** What a case works on. */
export interface Bench {
  /** Called when the bench is no longer used. */
  close?(): Promise<void>
}

/** What a suite says about itself. */
export interface SuiteAbout {
  /** Its name on the command line, in kebab-case. */
  readonly name: string
  /** The interfaces that it tests, as they are named in `core`. */
  readonly ports: readonly string[]
  /** What a bench must hold before a case begins. */
  readonly needs: string
  /**
   * Set when the cases share one bench, because it costs seconds to make. Each case then has names of its own in it.
   */
  readonly isShared?: boolean
  /** Set when the cases must run one after the other. */
  readonly isSerial?: boolean
  /** Of a suite for a part from outside: its tables, which the database of a bench has beside ours. */
  readonly migrations?: PartMigrations
  /** Writes what a bench must hold into an empty database with our tables. */
  fill?(database: SqlDatabase): Promise<void>
}

/** One rule that every adapter of a port keeps. `another` makes a further bench, which is closed after the case. */
export interface ContractCase<B extends Bench> {
  readonly title: string
  run(t: Assertions, bench: B, another: () => Promise<B>): Promise<void>
}

/** Declares a case of a suite. */
export type DeclareCase<B extends Bench> = (title: string, run: ContractCase<B>['run']) => void

/** The contract of one or more ports, for every adapter: data, which any test runner can run. */
export interface ContractSuite<B extends Bench> extends SuiteAbout {
  readonly cases: readonly ContractCase<B>[]
}

/**
 * Makes a suite of the cases that `declare` declares. They are declared when they are first requested, so `declare` may
 * use what stands below it. Throws then if two have the same title.
 */
export const contractSuite = <B extends Bench>(
  about: SuiteAbout,
  declare: (onBench: DeclareCase<B>) => void,
): ContractSuite<B> => {
  let cases: readonly ContractCase<B>[] | undefined
  return {
    ...about,
    get cases() {
      return (cases ??= declaredCases(about, declare))
    },
  }
}

const declaredCases = <B extends Bench>(
  { name }: SuiteAbout,
  declare: (onBench: DeclareCase<B>) => void,
): readonly ContractCase<B>[] => {
  const cases: ContractCase<B>[] = []
  declare((title, run) => {
    if (cases.some((one) => one.title === title)) throw new Error(`Two cases of ${name} have the title: ${title}`)
    cases.push({ title, run })
  })
  return cases
}

/** A case that makes its bench itself. */
export interface RunnableCase {
  readonly title: string
  run(t: Assertions): Promise<void>
}

/** The cases of a suite on the benches that `open` makes. `close` closes the bench that the cases share, if they do. */
export const casesOn = <B extends Bench>(
  { cases, isShared }: ContractSuite<B>,
  open: () => Promise<NoInfer<B>>,
): { readonly cases: readonly RunnableCase[]; close(): Promise<void> } => {
  let shared: Promise<B> | undefined
  return {
    cases: cases.map(({ title, run }) => ({
      title,
      run: async (t) => {
        const opened: B[] = []
        const another = async (): Promise<B> => {
          if (isShared === true) return (shared ??= open())
          const bench = await open()
          opened.push(bench)
          return bench
        }
        try {
          await run(t, await another(), another)
        } finally {
          for (const bench of opened) await bench.close?.()
        }
      },
    })),
    close: async () => (await shared)?.close?.(),
  }
}
