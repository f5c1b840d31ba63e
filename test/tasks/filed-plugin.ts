import { definePart } from '../../composition/part/part.ts'
import { appendFileSync } from 'node:fs'
import type { Diary } from './tiny-plugin.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'

const file = process.env['MOORAGE_TEST_DIARY'] ?? ''
const kept = (what: string): string[] => {
  const lines: string[] = []
  lines.push = (...entries) => {
    appendFileSync(file, entries.map((entry) => `${what} ${entry}\n`).join(''))
    return 0
  }
  return lines
}
const diary: Diary = { runs: kept('run'), recoveries: kept('recover'), reasons: kept('stop') }

/** The tiny plugin as a deployer's module; what its handlers did stands in a file, which outlives the process. */
export const part = definePart({ plugin: makeTinyPlugin(diary) })
