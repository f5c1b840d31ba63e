import type { BenchRun } from '../arguments.ts'
import type { Lab } from '../lab.ts'
import type { Bench } from '../measure.ts'
import type { BenchLine } from '../table.ts'

export interface RowInput {
  readonly lab: Lab
  readonly bench: Bench
  readonly run: BenchRun
}

/** Measures one row of the goals: one line for each of its bars. */
export type MeasureRow = (input: RowInput) => Promise<readonly BenchLine[]>

/** Joins what there is to say, if anything. */
export const note = (...parts: readonly (string | undefined)[]): { readonly note?: string } => {
  const said = parts.filter((part) => part !== undefined)
  return said.length === 0 ? {} : { note: said.join('; ') }
}
